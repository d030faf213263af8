"""Latency and bandwidth from measured collectives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costmodel.spec import Collective, CollectiveSample, Spread
from profiler.alpha_beta import fit, hops_and_bytes


def sample(op: Collective, num_ranks: int, size_bytes: int, time_s: float) -> CollectiveSample:
    spread = Spread(median_s=time_s, low_s=time_s, high_s=time_s, num_samples=5)
    return CollectiveSample(op=op, num_ranks=num_ranks, size_bytes=size_bytes, time=spread)


def test_a_ring_all_gather_takes_a_step_less_than_ranks() -> None:
    # 4 ranks, 4000 bytes: 3 steps of 1000 bytes.
    assert hops_and_bytes(sample(Collective.ALL_GATHER, 4, 4000, 1.0)) == (3, 3000.0)
    assert hops_and_bytes(sample(Collective.SEND_RECV, 2, 4000, 1.0)) == (1, 4000.0)


@given(latency_s=st.floats(1e-6, 1e-2), bandwidth=st.floats(1e8, 1e12))
def test_an_exact_line_is_found(latency_s: float, bandwidth: float) -> None:
    samples = []
    for size in (1024, 65536, 1 << 22, 1 << 28):
        # An all-gather over 4 ranks: 3 hops, 3/4 of the bytes. A message: 1 hop, all bytes.
        samples.append(sample(Collective.ALL_GATHER, 4, size, 3 * latency_s + 0.75 * size / bandwidth))
        samples.append(sample(Collective.SEND_RECV, 2, size, latency_s + size / bandwidth))
    line = fit(samples)
    assert line.latency_s == pytest.approx(latency_s, rel=1e-4)
    assert line.bandwidth_bytes_per_s == pytest.approx(bandwidth, rel=1e-4)
    assert line.error_frac < 1e-4


def test_reductions_do_not_enter_the_line() -> None:
    messages = [sample(Collective.SEND_RECV, 2, size, 1e-4 + size / 1e9) for size in (1024, 1 << 20)]
    reductions = [sample(Collective.ALL_REDUCE, 2, 1 << 20, 9.0), sample(Collective.REDUCE_SCATTER, 2, 1 << 20, 9.0)]
    assert fit(messages + reductions) == fit(messages)


def test_times_that_grow_faster_than_sizes_give_no_negative_latency() -> None:
    # Three times the bytes take nine times as long: the straight line through both points has latency < 0.
    line = fit([sample(Collective.SEND_RECV, 2, 1000, 1e-3), sample(Collective.SEND_RECV, 2, 3000, 9e-3)])
    assert line.latency_s == pytest.approx(1e-3)
    assert line.bandwidth_bytes_per_s > 0


def test_times_that_fall_with_size_give_a_finite_bandwidth() -> None:
    # The larger message is the faster one; the best rate reached is 2000 bytes in 1 ms.
    line = fit([sample(Collective.SEND_RECV, 2, 1000, 2e-3), sample(Collective.SEND_RECV, 2, 2000, 1e-3)])
    assert line.bandwidth_bytes_per_s == pytest.approx(2e6)
    assert line.latency_s > 0
