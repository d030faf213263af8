"""Ring collectives by hand, over one tier and two, and the laws of their hops."""

from __future__ import annotations

import pytest
from costmodel_samples import BETWEEN_NODES, NODE, cluster, setting, tier
from hypothesis import given
from hypothesis import strategies as st

from costmodel.collectives import by_formula, collective_time, ring
from costmodel.collectives.crossings import crossings
from costmodel.spec import Collective, Source

ALL_REDUCE, ALL_GATHER = Collective.ALL_REDUCE, Collective.ALL_GATHER
REDUCE_SCATTER, SEND_RECV = Collective.REDUCE_SCATTER, Collective.SEND_RECV


def hops_by_tier(num_devices: int, num_ranks: int, stride: int, *tiers) -> list[tuple[int, float, float]]:
    """(size of the tier, hops, bandwidth) of the crossings of a ring, where all groups are alike."""
    (crossed,) = crossings(cluster(num_devices, *tiers), num_ranks, stride)
    return [(hop.tier.num_devices, hop.num_hops, hop.bandwidth_bytes_per_s) for hop in crossed]


@pytest.mark.parametrize("op", [ALL_GATHER, REDUCE_SCATTER])
def test_one_round_inside_a_node(op):
    # 4 ranks: 3 hops of 1 ms, and 3/4 of 4,000 bytes at 1e6 bytes/s = 3 ms: 6 ms.
    assert ring.time(cluster(), op, 4, 1, 4000).time_s == pytest.approx(6e-3)


def test_all_reduce_goes_round_twice():
    assert ring.time(cluster(), ALL_REDUCE, 4, 1, 4000).time_s == pytest.approx(12e-3)


def test_a_ring_over_two_nodes_waits_for_the_slowest_crossing():
    # 8 ranks on 2 nodes: 6 hops of 1 ms inside, 1 hop of 10 ms between. Between the nodes 4 rings run side by side at
    # 4 x 1e5 bytes/s, slower than 1e6 inside: 7/8 of 8,000 bytes at 4e5 = 17.5 ms. 6 + 10 + 17.5 = 33.5 ms.
    assert hops_by_tier(8, 8, 1) == [(4, 6, 1e6), (1024, 1, 4e5)]
    assert ring.time(cluster(8), ALL_GATHER, 8, 1, 8000).time_s == pytest.approx(33.5e-3)


def test_ranks_a_node_apart_meet_between_nodes_only():
    # 2 ranks, 4 apart: one hop of 10 ms, half of 2,000 bytes over one link of 1e5 = 10 ms.
    assert hops_by_tier(8, 2, 4) == [(1024, 1, 1e5)]
    assert ring.time(cluster(8), ALL_GATHER, 2, 4, 2000).time_s == pytest.approx(20e-3)


def test_every_second_rank_has_two_in_each_node():
    # 4 ranks, 2 apart, span 8: two a node, so 2 hops inside and 1 between, over 2 links.
    assert hops_by_tier(8, 4, 2) == [(4, 2, 1e6), (1024, 1, 2e5)]


def kinds_of_groups(num_devices: int, num_ranks: int, stride: int, *tiers) -> set[tuple[tuple[float, float], ...]]:
    """(hops, links side by side) of every tier that a group crosses, of every kind of group."""
    kinds = crossings(cluster(num_devices, *tiers), num_ranks, stride)
    return {tuple((crossing.num_hops, crossing.num_links) for crossing in kind) for kind in kinds}


def test_groups_that_straddle_nodes():
    # Groups of 6 on nodes of 4 lie 4 + 2 or 2 + 4: 4 hops inside and 1 between, where 2 ranks share the smaller part.
    assert kinds_of_groups(12, 6, 1) == {((4, 1), (1, 2))}
    # Groups of 3: 0 1 2 and 9 10 11 lie in one node; 3 | 4 5 and 6 7 | 8 in two, of which one holds a single rank.
    assert kinds_of_groups(12, 3, 1) == {((2, 1),), ((1, 1), (1, 1))}


def test_seven_devices_of_one_node_stay_inside_it():
    node = tier(8, 1e6, 1e-3)
    assert hops_by_tier(7, 7, 1, node) == [(8, 6, 1e6)]
    assert hops_by_tier(7, 7, 1, node, BETWEEN_NODES) == [(8, 6, 1e6)]


def test_seven_devices_on_two_nodes():
    # 4 + 3 devices: 3 + 2 hops inside, and one between over the links of the three.
    assert kinds_of_groups(7, 7, 1, NODE, BETWEEN_NODES) == {((5, 1), (1, 3))}


def test_three_tiers():
    # Racks of 8 hold two nodes of 4: 16 ranks make 12 hops inside nodes, 2 inside racks over 4 links, 1 over 8.
    rack = tier(8, 5e5, 2e-3)
    assert hops_by_tier(16, 16, 1, NODE, rack, BETWEEN_NODES) == [(4, 12, 1e6), (8, 2, 2e6), (1024, 1, 8e5)]


@given(
    num_ranks=st.integers(2, 64),
    stride=st.sampled_from([1, 2, 3, 4, 6, 8]),
    groups=st.integers(1, 4),
    per_node=st.sampled_from([1, 2, 4, 6, 8]),
)
def test_a_ring_of_n_ranks_has_n_minus_1_hops(num_ranks, stride, groups, per_node):
    if num_ranks * stride * groups > 1024:
        groups = 1
    tiers = (tier(per_node, 1e6, 1e-3), BETWEEN_NODES)
    for kind in kinds_of_groups(num_ranks * stride * groups, num_ranks, stride, *tiers):
        assert sum(hops for hops, _ in kind) == pytest.approx(num_ranks - 1)
        assert all(hops > 0 and links >= 1 for hops, links in kind)


def test_send_recv_is_latency_and_bytes_of_the_joining_tier():
    # 1 ms + 3,000 bytes at 1e6 = 4 ms inside a node; 10 ms + 30 ms between nodes.
    assert by_formula(cluster(8), SEND_RECV, 2, 1, 3000).time_s == pytest.approx(4e-3)
    assert by_formula(cluster(8), SEND_RECV, 2, 4, 3000).time_s == pytest.approx(40e-3)


def test_a_formula_is_as_good_as_its_worst_link_and_on_measured_links_a_fit():
    assert ring.time(cluster(4), ALL_REDUCE, 4, 1, 1).source is Source.ANALYTIC
    assert ring.time(cluster(8), ALL_REDUCE, 8, 1, 1).source is Source.ASSUMED
    measured = tier(4, 1e6, 1e-3, Source.MEASURED)
    assert ring.time(cluster(4, measured), ALL_REDUCE, 4, 1, 1).source is Source.FITTED


def test_a_group_of_one_and_an_empty_message_cost_nothing():
    assert collective_time(setting(), ALL_REDUCE, 1, 1, 1000).time_s == 0
    assert collective_time(setting(), ALL_REDUCE, 4, 1, 0).time_s == 0


@given(
    op=st.sampled_from(Collective),
    num_ranks=st.integers(2, 16),
    stride=st.sampled_from([1, 2, 4]),
    size_bytes=st.integers(1, 10**9),
    factor=st.floats(1, 100),
)
def test_faster_links_are_never_slower(op, num_ranks, stride, size_bytes, factor):
    def time_s(bandwidth: float, latency_s: float) -> float:
        tiers = (tier(4, 1e6 * bandwidth, 1e-3 * latency_s), tier(1024, 1e5 * bandwidth, 1e-2 * latency_s))
        return by_formula(cluster(64, *tiers), op, num_ranks, stride, size_bytes).time_s

    assert time_s(factor, 1) <= time_s(1, 1)
    assert time_s(1, 1 / factor) <= time_s(1, 1)
