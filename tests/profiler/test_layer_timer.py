"""Each time goes to its layer, pass, shard and micro-batch: held by a stopwatch that counts FLOP instead of seconds."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from small_layers import SmallLayers, small_model
from torch.utils.flop_counter import FlopCounterMode

from costmodel.spec import Precision
from profiler.contract import ProfileRequest
from profiler.layers import LayerTimer


class FlopWatch:
    """A stopwatch on whose clock one FLOP takes one second."""

    def __init__(self, counter: FlopCounterMode) -> None:
        self._counter = counter
        self._marks: list[int] = []

    def mark(self) -> None:
        self._marks.append(self._counter.get_total_flops())

    def read(self) -> list[float]:
        marks, self._marks = self._marks, []
        return [float(after - before) for before, after in pairwise(marks)]


@pytest.fixture(scope="module")
def flop() -> dict[tuple[str, int, int, str], float]:
    """FLOP by kind of layer, tensor-parallel degree, micro-batch and pass."""
    model = small_model(hidden=32, num_heads=4, ffn_hidden=64, vocab=96, num_blocks=3)
    request = ProfileRequest(
        hf_config={},
        model=model,
        device="cpu",
        num_ranks=2,
        micro_batches=(1, 8),
        seq_len=16,
        precision=Precision.FP32,
        tp_degrees=(1, 2),
    )
    with FlopCounterMode(display=False) as counter:
        timer = LayerTimer(request, SmallLayers(model), torch.device("cpu"), FlopWatch(counter))
        times = timer.visit()
    passes = [(case, name) for name in ("forward", "backward") for case in timer.cases]
    return {
        (case.layer.kind, case.tp, case.micro_batch, name): time
        for (case, name), time in zip(passes, times, strict=True)
    }


@pytest.mark.parametrize("micro_batch", [1, 8])
@pytest.mark.parametrize("tp", [1, 2])
def test_a_block_has_the_flop_of_its_projections(
    flop: dict[tuple[str, int, int, str], float], tp: int, micro_batch: int
) -> None:
    # Four projections of attention, 32 x 32 each, and three of the feed-forward network, 32 x 64 each: 10240 weights,
    # of which a rank has 1 / tp; 2 FLOP a token and weight forward, 4 backward (the counter leaves out the kernel of
    # attention on CPU).
    projections = 2 * 16 * micro_batch * 10240 // tp
    assert flop["block", tp, micro_batch, "forward"] == projections
    assert flop["block", tp, micro_batch, "backward"] == 2 * projections


@pytest.mark.parametrize("micro_batch", [1, 8])
@pytest.mark.parametrize("tp", [1, 2])
def test_the_head_has_the_flop_of_its_projection(
    flop: dict[tuple[str, int, int, str], float], tp: int, micro_batch: int
) -> None:
    # 32 x 96 weights, of which a rank has 1 / tp.
    projection = 2 * 16 * micro_batch * 32 * 96 // tp
    assert flop["head", tp, micro_batch, "forward"] == projection
    assert flop["head", tp, micro_batch, "backward"] == 2 * projection


def test_the_embedding_multiplies_nothing(flop: dict[tuple[str, int, int, str], float]) -> None:
    assert {value for (kind, *_), value in flop.items() if kind == "embedding"} == {0.0}
