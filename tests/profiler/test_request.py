"""Requests that cannot be measured are refused with one sentence before anything starts."""

from __future__ import annotations

from typing import Any

import pytest
from small_layers import SmallLayers, small_model

from costmodel.errors import BadInputError, MissingError
from costmodel.spec import Precision
from profiler.contract import ProfileRequest
from profiler.measure import measure


def request(**changes: Any) -> ProfileRequest:
    values: dict[str, Any] = {
        "hf_config": {"model_type": "llama"},
        "model": small_model(),
        "device": "cpu",
        "num_ranks": 2,
        "micro_batches": (1, 2),
        "seq_len": 16,
        "precision": Precision.FP32,
        "tp_degrees": (1, 2),
    }
    return ProfileRequest(**values | changes)


def never(*_: object, **__: object) -> Any:
    raise AssertionError("no rank may start for a request that is refused")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"device": "tpu"}, r"device is 'tpu'; it must be cpu or cuda"),
        ({"num_ranks": 0, "tp_degrees": (1,)}, r"num_ranks is 0"),
        ({"budget_s": 0.0}, r"budget_s is 0"),
        ({"budget_s": float("nan")}, r"budget_s is nan"),
        ({"micro_batches": ()}, r"micro_batches is \(\)"),
        ({"micro_batches": (2, 0)}, r"micro_batches is \(2, 0\)"),
        ({"micro_batches": (2, 2)}, r"micro_batches is \(2, 2\)"),
        ({"seq_len": 0}, r"seq_len is 0"),
        ({"seq_len": 513}, r"seq_len is 513, but small takes at most 512"),
        ({"tp_degrees": ()}, r"tp_degrees is empty"),
        ({"tp_degrees": (1, 1)}, r"tp_degrees is \(1, 1\)"),
        ({"tp_degrees": (4,)}, r"tp degree 4 does not divide the 2 ranks"),
        ({"num_ranks": 3, "tp_degrees": (1, 2)}, r"tp degree 2 does not divide the 3 ranks"),
        ({"num_ranks": 3, "tp_degrees": (3,)}, r"tp degree 3 does not divide num_attention_heads 4 of small"),
        ({"model": small_model(ffn_hidden=63)}, r"tp degree 2 does not divide intermediate_size 63"),
        ({"model": small_model(vocab=97)}, r"tp degree 2 does not divide vocab_size 97"),
    ],
)
def test_a_bad_request_is_refused(changes: dict[str, Any], sentence: str) -> None:
    bad = request(**changes)
    with pytest.raises(BadInputError, match=sentence):
        measure(bad, SmallLayers(bad.model), never)


def test_cuda_without_a_gpu_is_missing() -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device here")
    with pytest.raises(MissingError, match="cuda"):
        measure(request(device="cuda"), SmallLayers(small_model()), never)
