"""Operations from rank to rank, and groups on unequal machines and meshes, by hand."""

from __future__ import annotations

from itertools import pairwise as pairwise_of

import pytest
from costmodel_samples import cluster, device, tier
from hypothesis import given
from hypothesis import strategies as st

from costmodel.collectives import by_formula, pairwise, ring
from costmodel.collectives.crossings import crossings
from costmodel.spec import ClusterSpec, Collective, Node, NodeGroup, Tier

ALL_TO_ALL, GATHER, SEND_RECV = Collective.ALL_TO_ALL, Collective.GATHER, Collective.SEND_RECV


def unequal(*sizes: int) -> ClusterSpec:
    """Machines of these sizes, 1e6 bytes/s and 1 ms inside, 1e5 and 10 ms between."""
    inside = tier(max(sizes), 1e6, 1e-3).model_copy(update={"unit_sizes": sizes})
    nodes = tuple(NodeGroup(num_nodes=1, node=Node(device=device(), num_devices=size)) for size in sizes)
    return ClusterSpec(name="unequal", nodes=nodes, tiers=(inside, tier(1024, 1e5, 1e-2)))


def kinds(spec: ClusterSpec, num_ranks: int, stride: int) -> set[tuple[tuple[float, float], ...]]:
    found = crossings(spec, num_ranks, stride)
    return {tuple((crossing.num_hops, crossing.num_links) for crossing in kind) for kind in found}


def test_all_to_all_inside_a_node_sends_to_the_others_at_once():
    # 1 ms, and 3/4 of 4,000 bytes leave at 1e6 bytes/s: 3 ms.
    assert pairwise.time(cluster(), ALL_TO_ALL, 4, 1, 4000).time_s == pytest.approx(4e-3)


def test_all_to_all_over_two_nodes_waits_for_the_network():
    # Of 8,000 bytes, 4 of 8 parts go to the other node at 1e5 bytes/s: 40 ms, beside 7 ms inside. 10 + 40 = 50 ms.
    assert pairwise.time(cluster(8), ALL_TO_ALL, 8, 1, 8000).time_s == pytest.approx(50e-3)


def test_gather_is_bound_by_the_links_of_its_root():
    assert pairwise.time(cluster(), GATHER, 4, 1, 4000).time_s == pytest.approx(4e-3)


def test_broadcast_passes_every_hop_once():
    # 3 hops of 1 ms, and 4,000 bytes at 1e6 bytes/s.
    assert ring.time(cluster(), Collective.BROADCAST, 4, 1, 4000).time_s == pytest.approx(7e-3)


def test_stages_meet_over_the_slowest_link_between_neighbours():
    # 4 stages of 2 ranks on nodes of 4: stages 0 and 1 share a node, 1 and 2 do not. 10 ms + 3,000 bytes at 1e5.
    assert pairwise.time(cluster(8), SEND_RECV, 4, 2, 3000).time_s == pytest.approx(40e-3)


def test_neighbours_in_a_mesh_have_one_link():
    # 7 links of 1e6 / 7 bytes/s: 1 ms and 1,000 bytes over one of them, 7 ms.
    mesh = tier(8, 1e6, 1e-3).model_copy(update={"is_mesh": True})
    assert pairwise.time(cluster(8, mesh), SEND_RECV, 2, 1, 1000).time_s == pytest.approx(8e-3)


def test_first_and_last_stage_of_a_pipeline_meet():
    # Ranks 0 and 6 of 8, as the copies of a tied table: no block of 2 x 6 ranks fits, yet they meet between nodes.
    assert kinds(cluster(8), 2, 6) == {((1, 1),)}


def test_machines_of_unequal_size():
    # 8 + 4 ranks: a ring of all has 7 + 3 hops inside, and 1 between over the links of the four.
    assert kinds(unequal(8, 4), 12, 1) == {((10, 1), (1, 4))}
    # Groups of 4: all inside. Groups of 3, 4 apart: two of them in the first machine, one in the second.
    assert kinds(unequal(8, 4), 4, 1) == {((3, 1),)}
    assert kinds(unequal(8, 4), 3, 4) == {((1, 1), (1, 1))}
    # Groups of 6: 0 to 5 inside the first; 6 and 7 there and 8 to 11 in the second.
    assert kinds(unequal(8, 4), 6, 1) == {((5, 1),), ((4, 1), (1, 2))}


def test_the_slowest_group_decides():
    # Groups of 6: within one machine 5 ms + 5 ms; across 4 + 10 + 5/6 of 6,000 bytes over two links of 1e5: 25 ms.
    assert ring.time(unequal(8, 4), Collective.ALL_GATHER, 6, 1, 6000).time_s == pytest.approx(39e-3)


def test_a_mesh_carries_a_group_over_the_links_between_its_members():
    # Each of 8 devices has 7 links, 7e6 bytes/s in all; two of them share one of these.
    mesh = tier(8, 7e6, 1e-3).model_copy(update={"is_mesh": True})
    assert ring.time(cluster(8, mesh), Collective.ALL_GATHER, 8, 1, 8000).time_s == pytest.approx(7e-3 + 1e-3)
    assert ring.time(cluster(8, mesh), Collective.ALL_GATHER, 2, 1, 2000).time_s == pytest.approx(1e-3 + 1e-3)


@given(
    sizes=st.lists(st.integers(1, 8), min_size=1, max_size=6),
    num_ranks=st.integers(1, 12),
    stride=st.integers(1, 6),
)
def test_crossings_are_those_of_every_group_one_by_one(sizes, num_ranks, stride):
    """Counted rank by rank: hops whose ends share a machine, and those whose ends do not."""
    total = sum(sizes)
    if num_ranks < 2 or total % (num_ranks * stride):
        return
    machine = [index for index, size in enumerate(sizes) for _ in range(size)]
    expected = set()
    for first in range(total):
        if first % (num_ranks * stride) < stride:
            ranks = [first + stride * place for place in range(num_ranks)]
            between = sum(machine[a] != machine[b] for a, b in pairwise_of(ranks))
            expected.add((num_ranks - 1 - between, between))
    found = set()
    for kind in crossings(unequal(*sizes), num_ranks, stride):
        hops = {crossing.tier.num_devices: crossing.num_hops for crossing in kind}
        found.add((hops.get(max(sizes), 0), hops.get(1024, 0)))
    assert found == expected


@given(
    op=st.sampled_from(Collective),
    num_ranks=st.integers(2, 8),
    more=st.integers(0, 10**6),
)
def test_more_bytes_are_never_faster(op, num_ranks, more):
    small = by_formula(cluster(64), op, num_ranks, 2, 1000).time_s
    assert by_formula(cluster(64), op, num_ranks, 2, 1000 + more).time_s >= small


def test_a_tier_lists_its_units():
    node: Tier = tier(4, 1e6, 1e-3)
    assert node.sizes(10) == (4, 4, 2)
    assert unequal(8, 4).tiers[0].sizes(12) == (8, 4)
