"""Collectives that the profile timed: at a size, between sizes, beyond them, and where the profile has no say."""

from __future__ import annotations

import pytest
from costmodel_samples import cluster, collective_sample, profile, setting, tier

from costmodel.collectives import by_formula, collective_time, measured
from costmodel.price import Timed
from costmodel.spec import Collective, Source

ALL_REDUCE, SEND_RECV = Collective.ALL_REDUCE, Collective.SEND_RECV
SAMPLES = (
    collective_sample(ALL_REDUCE, 4, 1000, 1e-3),
    collective_sample(ALL_REDUCE, 4, 100_000, 4e-3),
    collective_sample(ALL_REDUCE, 2, 1000, 0.5e-3),
    collective_sample(SEND_RECV, 2, 1000, 0.25e-3),
)


def timed(op: Collective, num_ranks: int, size_bytes: float, num_devices: int = 4, stride: int = 1):
    here = setting(cluster=cluster(num_devices), profile=profile(collectives=SAMPLES))
    return collective_time(here, op, num_ranks, stride, size_bytes)


@pytest.mark.parametrize(
    ("size_bytes", "time_s", "source"),
    [
        (1000, 1e-3, Source.MEASURED),
        (100_000, 4e-3, Source.MEASURED),
        (10_000, 2e-3, Source.FITTED),  # half way in log size: the geometric mean of 1 and 4 ms
        (10, 1e-3, Source.FITTED),  # below the smallest: its latency
        (300_000, 12e-3, Source.FITTED),  # above the largest: 3 times its bytes
    ],
)
def test_time_by_size(size_bytes, time_s, source):
    found = timed(ALL_REDUCE, 4, size_bytes)
    assert found.time_s == pytest.approx(time_s)
    assert found.source is source


def test_ranks_further_apart_than_those_measured_take_their_time_as_an_estimate():
    # Two ranks, every other one, inside the node of 4.
    assert timed(ALL_REDUCE, 2, 1000, stride=2) == Timed(0.5e-3, Source.FITTED)


def test_each_number_of_ranks_has_its_own_samples():
    assert timed(ALL_REDUCE, 2, 1000).time_s == pytest.approx(0.5e-3)


def test_send_recv_is_measured_between_two_ranks():
    assert timed(SEND_RECV, 2, 1000).time_s == pytest.approx(0.25e-3)


@pytest.mark.parametrize(
    ("op", "num_ranks", "stride"),
    [
        (Collective.ALL_GATHER, 4, 1),  # another operation
        (ALL_REDUCE, 3, 1),  # another number of ranks
        (ALL_REDUCE, 4, 2),  # a group that leaves the node
        (ALL_REDUCE, 2, 4),
    ],
)
def test_where_nothing_was_measured_the_ring_formula_counts(op, num_ranks, stride):
    here = setting(cluster=cluster(8), profile=profile(collectives=SAMPLES))
    assert measured.lookup(here, op, num_ranks, stride, 1000) is None
    assert timed(op, num_ranks, 1000, 8, stride) == by_formula(cluster(8), op, num_ranks, stride, 1000)


def test_a_profile_of_another_kind_of_node_is_not_asked():
    other = profile(collectives=SAMPLES, machine=cluster(4, tier(4, 2e6, 1e-3)))
    assert collective_time(setting(profile=other), ALL_REDUCE, 4, 1, 1000) == by_formula(
        cluster(), ALL_REDUCE, 4, 1, 1000
    )
