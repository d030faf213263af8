"""Rings of a layout: what they meet in the order of the axes, looked up in parts or in the whole graph alike."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ring_hops import ring_meets

from costmodel.errors import BadInputError
from costmodel.spec import ClusterSpec, LinkKind, Node, NodeGroup, NodeTopology, Source, Tier
from planner.clusters.graph import cluster_graph, groups_of_axis
from planner.clusters.read import load_cluster
from planner.clusters.rings import Axis, Ring, rings_of_cluster, rings_of_topology
from planner.clusters.topology import parse_topology

SAVIO = Path(__file__).parent / "topology" / "savio_8gpu_pxb_pix_sys_mlx5_columns.txt"
TWO_SITES = Path(__file__).parent / "files" / "two_sites.yaml"


def axes(**degrees: int) -> tuple[Axis, ...]:
    return tuple(Axis(name, degree) for name, degree in degrees.items())


def meets(ring: Ring) -> dict[str, int]:
    """Of the one kind of groups that there is."""
    (kind,) = ring.kinds
    return {link.name: number for link, number in kind.hops}


def test_the_usual_order_keeps_tensor_groups_in_a_machine() -> None:
    """64 ranks on machines of 8."""
    tp, dp, pp = rings_of_cluster(load_cluster("h100-sxm", 64).spec, axes(tp=8, dp=4, pp=2))
    assert (meets(tp), meets(dp), meets(pp)) == ({"node": 7}, {"network": 3}, {"network": 1})
    assert [ring.stride for ring in (tp, dp, pp)] == [1, 8, 32]
    assert [ring.kinds[0].num_groups for ring in (tp, dp, pp)] == [8, 16, 32]
    assert tp.slowest is not None
    assert (tp.slowest.name, tp.slowest.kind, tp.slowest.bandwidth_bytes_per_s) == ("node", "nvlink", 315e9)


def test_another_order_takes_them_apart() -> None:
    dp, tp = rings_of_cluster(load_cluster("h100-sxm", 64).spec, axes(dp=8, tp=8))
    assert (meets(dp), meets(tp)) == ({"node": 7}, {"network": 7})


def test_the_slowest_link_is_that_of_the_slowest_group() -> None:
    """Three machines of 8 at two sites, 16 + 8: stages of 12 ranks meet the wide-area network in some pairs only."""
    tp, pp = rings_of_cluster(load_cluster(str(TWO_SITES), None).spec, axes(tp=12, pp=2))
    assert [(kind.num_groups, kind.first_rank, [(link.name, n) for link, n in kind.hops]) for kind in pp.kinds] == [
        (8, 4, [("wan", 1)]),  # ranks 4 to 11 with 16 to 23, which stand at the other site
        (4, 0, [("network", 1)]),  # ranks 0 to 3 with 12 to 15
    ]
    assert pp.slowest is not None
    assert pp.slowest.name == "wan"
    # Ranks 0 to 11 pass from one machine to the next; 12 to 23 leave the second machine for the other site.
    assert sorted([[(link.name, n) for link, n in kind.hops] for kind in tp.kinds]) == [
        [("node", 10), ("network", 1)],
        [("node", 10), ("wan", 1)],
    ]


def test_an_axis_of_one_meets_nothing() -> None:
    tp, dp = rings_of_cluster(load_cluster("h100-sxm", 8).spec, axes(tp=1, dp=8))
    assert (tp.kinds[0].hops, tp.kinds[0].num_groups, tp.slowest) == ((), 8, None)
    assert meets(dp) == {"node": 7}
    (alone,) = rings_of_cluster(load_cluster("h100-sxm", 1).spec, axes(tp=1))
    assert alone.slowest is None


def test_a_hundred_thousand_ranks_are_looked_up_in_one_machine() -> None:
    tp, dp, pp = rings_of_cluster(load_cluster("h100-sxm", 100_000).spec, axes(tp=8, dp=1250, pp=10))
    assert (meets(tp), meets(dp), meets(pp)) == ({"node": 7}, {"network": 1249}, {"network": 9})


@settings(max_examples=60, deadline=None)
@given(
    racks=st.lists(st.lists(st.sampled_from([1, 2, 4]), min_size=1, max_size=3), min_size=1, max_size=4),
    data=st.data(),
)
def test_parts_show_the_hops_of_the_whole_graph(racks: list[list[int]], data: st.DataObject) -> None:
    sizes = [size for rack in racks for size in rack]
    cluster = _racks(racks)
    total = cluster.num_devices
    first = data.draw(st.sampled_from([degree for degree in range(1, total + 1) if total % degree == 0]))
    rest = total // first
    second = data.draw(st.sampled_from([degree for degree in range(1, rest + 1) if rest % degree == 0]))
    degrees = (first, second, rest // second)
    assert math.prod(degrees) == sum(sizes)
    graph = cluster_graph(cluster)
    found = rings_of_cluster(cluster, axes(tp=degrees[0], dp=degrees[1], pp=degrees[2]))
    for index, ring in enumerate(found):
        expected = Counter(_named(ring_meets(graph, group)) for group in groups_of_axis(degrees, index))
        by_parts = {
            frozenset((link.name, number) for link, number in kind.hops): kind.num_groups for kind in ring.kinds
        }
        assert by_parts == expected


def _named(met: Counter[Tier]) -> frozenset[tuple[str, int]]:
    return frozenset((tier.name, hops) for tier, hops in met.items())


def _racks(racks: list[list[int]]) -> ClusterSpec:
    device = load_cluster("h100-sxm", 1).spec.device
    nodes = tuple(NodeGroup(num_nodes=1, node=Node(device=device, num_devices=size)) for rack in racks for size in rack)
    machines = tuple(size for rack in racks for size in rack)
    rates = {"bandwidth_bytes_per_s": 1e9, "latency_s": 1e-6, "source": Source.ASSUMED}
    rows = (("node", machines), ("rack", tuple(sum(rack) for rack in racks)), ("network", (sum(machines),)))
    tiers: list[Tier] = []
    for name, units in rows:
        if not tiers or max(units) > tiers[-1].num_devices:
            tiers.append(Tier(name=name, num_devices=max(units), unit_sizes=units, link=LinkKind.INFINIBAND, **rates))
    return ClusterSpec(name="racks", nodes=nodes, tiers=tuple(tiers))


def savio() -> NodeTopology:
    return parse_topology(SAVIO.read_text(encoding="utf-8"), SAVIO.name)


def test_inside_a_machine_they_are_named_as_its_tool_names_them() -> None:
    tp, dp = rings_of_topology(savio(), axes(tp=4, dp=2), "here")
    # GPU0-1 and GPU1-2 are joined by PXB, GPU2-3 by PIX.
    assert (meets(tp), meets(dp)) == ({"PIX": 1, "PXB": 2}, {"SYS": 1})
    assert tp.slowest is not None
    assert (tp.slowest.name, tp.slowest.bandwidth_bytes_per_s) == ("PXB", None)


def test_degrees_that_do_not_fill_a_machine_are_refused() -> None:
    with pytest.raises(BadInputError, match="here: describes 8 GPUs, but the degrees of --groups multiply to 6"):
        rings_of_topology(savio(), axes(tp=3, dp=2), "here")


def test_a_pair_that_is_missing_is_named() -> None:
    whole = savio()
    cut = whole.model_copy(update={"pairs": tuple(p for p in whole.pairs if p.pair != ("GPU1", "GPU2"))})
    with pytest.raises(BadInputError, match="here: does not say what joins GPU1 and GPU2"):
        rings_of_topology(cut, axes(tp=8), "here")
