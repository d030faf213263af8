"""The graph of a cluster: islands, sockets, and the same hops of rings as the arithmetic counts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import networkx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ring_hops import ring_meets

from costmodel.collectives.crossings import crossings
from costmodel.spec import ClusterSpec, LinkKind, Node, NodeGroup, Source, Tier
from planner.clusters.graph import (
    Graph,
    cluster_graph,
    crosses_socket,
    groups_of_axis,
    islands,
    tiers_between,
)
from planner.clusters.read import load_cluster

SAMPLES = Path(__file__).parent / "topology"


def tier(name: str, num_devices: int, link: LinkKind, units: tuple[int, ...] = ()) -> Tier:
    return Tier(
        name=name,
        num_devices=num_devices,
        unit_sizes=units,
        link=link,
        bandwidth_bytes_per_s=1e9,
        latency_s=1e-6,
        source=Source.ASSUMED,
    )


def machines(*sizes: int, racks: tuple[int, ...] = ()) -> ClusterSpec:
    """Machines in a row, joined by NVLink inside, and by InfiniBand within racks and by Ethernet between them."""
    device = load_cluster("h100-sxm", 1).spec.device
    nodes = tuple(NodeGroup(num_nodes=1, node=Node(device=device, num_devices=size)) for size in sizes)
    tiers = [tier("node", max(sizes), LinkKind.NVLINK, _unequal(sizes))]
    if racks and max(racks) > max(sizes):
        tiers.append(tier("rack", max(racks), LinkKind.INFINIBAND, _unequal(racks)))
    return ClusterSpec(name="machines", nodes=nodes, tiers=(*tiers, tier("network", 1024, LinkKind.ETHERNET)))


def _unequal(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """`sizes` as a tier states them: nothing where only the last is smaller."""
    *others, last = sizes
    return () if len({*others, max(sizes)}) == 1 and last <= max(sizes) else sizes


def with_topology(tmp_path: Path, name: str, device: str) -> ClusterSpec:
    text = (SAMPLES / name).read_text(encoding="utf-8")
    (tmp_path / "topo.txt").write_text(text, encoding="utf-8")
    rates = "pcie_bytes_per_s: 31 GB/s, peer_link_bytes_per_s: 20 GB/s"
    file = f"device: {{preset: {device}, {rates}}}\ntopology: topo.txt\nnum_nodes: 1\n"
    (tmp_path / "c.yaml").write_text(file, encoding="utf-8")
    return load_cluster(str(tmp_path / "c.yaml"), None).spec


def test_ranks_of_one_machine_are_an_island() -> None:
    assert islands(cluster_graph(machines(4, 3))) == ((0, 1, 2, 3), (4, 5, 6))


def test_data_between_machines_meets_both_tiers() -> None:
    graph = cluster_graph(machines(4, 3))
    assert [tier.name for tier in tiers_between(graph, 0, 3)] == ["node"]
    assert [tier.name for tier in tiers_between(graph, 3, 4)] == ["node", "network"]


def test_the_order_of_the_axes_decides_what_a_ring_meets() -> None:
    """Two machines of four: with tp before dp, tensor groups of 4 stay inside and data groups of 2 cross."""
    graph = cluster_graph(machines(4, 4))
    inside_first = [ring_meets(graph, group) for group in groups_of_axis((4, 2), 0)]
    assert [{tier.name: hops for tier, hops in met.items()} for met in inside_first] == [{"node": 3}] * 2
    across = [ring_meets(graph, group) for group in groups_of_axis((4, 2), 1)]
    assert [{tier.name: hops for tier, hops in met.items()} for met in across] == [{"network": 1}] * 4
    # dp before tp: the data groups of two stay inside, the tensor groups of four cross once.
    tensor = [ring_meets(graph, group) for group in groups_of_axis((2, 4), 1)]
    assert [{tier.name: hops for tier, hops in met.items()} for met in tensor] == [{"node": 2, "network": 1}] * 2


def test_groups_of_an_axis_cover_every_rank_once() -> None:
    for axis in range(3):
        groups = list(groups_of_axis((2, 3, 4), axis))
        assert sorted(rank for group in groups for rank in group) == list(range(24))


def test_pairs_that_cross_a_socket(tmp_path: Path) -> None:
    graph = cluster_graph(with_topology(tmp_path, "4gpu_pxb_pix_sys_acs_hang_tabs.txt", "a100-pcie-80gb"))
    assert [crosses_socket(graph, 0, other) for other in (1, 2, 3)] == [False, True, True]
    assert crosses_socket(cluster_graph(machines(4)), 0, 1) is None


def test_bridged_pairs_are_islands(tmp_path: Path) -> None:
    graph = cluster_graph(with_topology(tmp_path, "litgpt_4gpu_nv1_pairs_sys_SYNTHETIC.txt", "a100-pcie-80gb"))
    assert islands(graph) == ((0, 1), (2, 3))


@st.composite
def clusters_and_degrees(draw: st.DrawFn) -> tuple[ClusterSpec, tuple[int, int, int]]:
    """Ranks of three axes on machines of any sizes, which stand in racks of any sizes or in none."""
    degrees = draw(st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4)))
    total = math.prod(degrees)
    ends = draw(st.sets(st.integers(1, total), max_size=6)) | {total}
    racks = draw(st.sets(st.sampled_from(sorted(ends)))) | {total}
    return machines(*_sizes(ends), racks=_sizes(racks)), degrees


def _sizes(ends: set[int]) -> tuple[int, ...]:
    return tuple(end - start for start, end in pairwise([0, *sorted(ends)]))


@settings(max_examples=60, deadline=None)
@given(clusters_and_degrees())
# Groups of three ranks, two apart, fill two machines of three, but lie on them as 2 + 1 and as 1 + 2.
@example((machines(3, 3), (1, 2, 3)))
@example((machines(4, 4, 4, 4, racks=(8, 8)), (2, 4, 2)))
# Of one group three members share a rack, and two another.
@example((machines(1, 1, 1, 1, 1, racks=(3, 2)), (5, 1, 1)))
def test_the_arithmetic_counts_what_the_graph_shows(given_: tuple[ClusterSpec, tuple[int, int, int]]) -> None:
    spec, degrees = given_
    graph, stride = cluster_graph(spec), 1
    for axis, degree in enumerate(degrees):
        if degree > 1:
            by_graph = {frozenset(_crossed(graph, spec, group)) for group in groups_of_axis(degrees, axis)}
            by_arithmetic = {
                frozenset((found.tier.name, found.num_hops, found.num_links, found.num_members) for found in kind)
                for kind in crossings(spec, degree, stride)
            }
            assert by_graph == by_arithmetic
        stride *= degree


def _crossed(graph: Graph, spec: ClusterSpec, group: tuple[int, ...]) -> Iterator[tuple[str, int, int, int]]:
    """(tier, hops, links side by side, members in a unit) of a ring through `group`, each counted on the graph."""
    hops = [(one, other, tiers_between(graph, one, other)[-1]) for one, other in pairwise(group)]
    for tier, num_hops in ring_meets(graph, group).items():
        ends = [{one, other} for one, other, met in hops if met == tier]
        inner, outer = _members_of_units(graph, spec, group, tier)
        links = min(len(unit) for unit in inner if any(unit & end for end in ends))
        members = min(len(unit) for unit in outer if any(end <= unit for end in ends))
        yield tier.name, num_hops, links, members


def _members_of_units(
    graph: Graph, spec: ClusterSpec, group: tuple[int, ...], tier: Tier
) -> tuple[list[set[int]], list[set[int]]]:
    """Members of `group` that reach one another over the tiers inside of `tier`, and over these and `tier` itself."""
    index = spec.tiers.index(tier)
    found = []
    for tiers in (spec.tiers[:index], spec.tiers[: index + 1]):
        view = networkx.subgraph_view(graph, filter_edge=lambda a, b, tiers=tiers: graph.edges[a, b]["tier"] in tiers)
        units = networkx.connected_components(view)
        found.append([{rank for kind, _, rank in unit if kind == "device" and rank in group} for unit in units])
    inner, outer = found
    return inner, outer


@pytest.mark.parametrize("name", ["h100-sxm", "l40s"])
def test_presets_become_graphs(name: str) -> None:
    graph = cluster_graph(load_cluster(name, 16).spec)
    assert sum(kind == "device" for kind, _, _ in graph) == 16
