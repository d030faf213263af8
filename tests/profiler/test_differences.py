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
    # Forward medians 2 and 3; backward medians 4 and 1. Of all forward values the 10th percentile is below zero.
    first, second = np.array([[-9.0, 4.0], [2.0, 4.0], [2.0, 4.0]]), np.array([[3.0, 1.0]] * 3)
    sample = dispatch_sample(2, [first, second])
    assert sample is not None
    assert (sample.forward.median_s, sample.backward.median_s) == (3.0, 4.0)
    assert sample.forward.low_s == LEAST_S
    assert sample.forward.num_samples == 3


def test_what_is_lost_in_the_noise_is_no_sample() -> None:
    lost = [np.array([[1.0, -1.0]] * 3)] * 2
    assert dispatch_sample(2, lost) is None
    assert sharding_sample(100, lost) is None


def test_a_sharded_block_is_noted_with_its_size_and_ranks() -> None:
    sample = sharding_sample(100, [np.array([[1.0, 2.0]] * 3)] * 2)
    assert sample is not None
    assert (sample.num_params, sample.num_ranks) == (100, 2)
    assert (sample.forward.median_s, sample.backward.median_s) == (1.0, 2.0)


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
    assert 1e-5 < sharding.forward.median_s < 1
    assert 1e-5 < sharding.backward.median_s < 1
    assert (dispatch is not None) == timed
    if dispatch is not None:
        # Dozens of operations, each of which Python must look at: more than 0.1 ms, and less than a second.
        assert dispatch.tp == 2
        assert 1e-4 < dispatch.forward.median_s < 1
        assert 1e-4 < dispatch.backward.median_s < 1
