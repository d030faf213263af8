"""What splitting and sharding add to the passes of a block: as differences, and of blocks that are really cut up."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from small_layers import small_model

from costmodel.spec import Precision
from executor.profiled import ProfiledLayers
from executor.ranks import run_ranks
from executor.warm_up import warm_up
from profiler.contract import ProfileRequest
from profiler.differences import LEAST_S
from profiler.dispatch import dispatch_sample
from profiler.measure import measure
from profiler.sharding import sharding_sample

LLAMA = {
    "model_type": "llama",
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "vocab_size": 96,
}


def test_the_slowest_rank_decides_and_a_time_never_falls_below_zero() -> None:
    # Forward medians 2 and 3; backward medians 4 and below zero. The 10th percentile of forward is below zero too.
    first, second = np.array([[-9.0, 4.0], [2.0, 4.0], [2.0, 4.0]]), np.array([[3.0, -1.0]] * 3)
    dispatch, sharding = dispatch_sample(2, [first, second]), sharding_sample(100, [first, second])
    for sample in (dispatch, sharding):
        assert (sample.forward.median_s, sample.backward.median_s) == (3.0, 4.0)
        assert sample.forward.low_s > 0
        assert sample.forward.num_samples == 3
    assert dispatch.tp == 2
    assert (sharding.num_params, sharding.num_ranks) == (100, 2)


def test_what_is_lost_in_the_noise_takes_next_to_nothing() -> None:
    assert dispatch_sample(2, [np.array([[1.0, -1.0]] * 3)]).backward.median_s == LEAST_S


@pytest.mark.parametrize(("tp_degrees", "timed"), [((1, 2), True), ((1,), False)])
def test_splitting_and_sharding_take_time_of_their_own(tp_degrees: tuple[int, ...], timed: bool) -> None:
    request = ProfileRequest(
        hf_config=LLAMA,
        model=small_model(),
        device="cpu",
        num_ranks=2,
        micro_batches=(1,),
        seq_len=16,
        precision=Precision.FP32,
        tp_degrees=tp_degrees,
        budget_s=0.3,
    )
    warm_up(torch.device("cpu"))
    profile = measure(request, ProfiledLayers(LLAMA), run_ranks)
    dispatch, sharding = profile.dispatch, profile.sharding
    assert sharding is not None
    assert sharding.num_params == request.model.blocks[0].num_params()
    assert (dispatch is not None) == timed
    if dispatch is not None:
        # Dozens of operations, each of which Python must look at, forward and again backward.
        assert dispatch.tp == 2
        assert dispatch.forward.median_s > LEAST_S
        assert dispatch.backward.median_s > LEAST_S
