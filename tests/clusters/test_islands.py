"""Islands and sockets: those of one part stand for all that are alike, and none is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from costmodel.spec import ClusterSpec, Device, LinkKind, Node, NodeGroup, NodeTopology, Pair, PathKind, Source, Tier
from planner.clusters.graph import cluster_graph, islands
from planner.clusters.islands import Islands, Sockets, islands_of_cluster, islands_of_topology, sockets_of_topology
from planner.clusters.read import load_cluster
from planner.clusters.topology import parse_topology

SAMPLES = Path(__file__).parent / "topology"
GPU: Device = load_cluster("h100-sxm", 1).spec.device


def tier(name: str, num_devices: int, link: LinkKind, units: tuple[int, ...] = ()) -> Tier:
    rates = {"bandwidth_bytes_per_s": 1e9, "latency_s": 1e-6, "source": Source.ASSUMED}
    return Tier(name=name, num_devices=num_devices, unit_sizes=units, link=link, **rates)


def crossed_pairs(num_gpus: int) -> NodeTopology:
    """NVLink between GPUs half a machine apart, whose numbers are no rows."""
    gpus = tuple(f"GPU{number}" for number in range(num_gpus))
    pairs = [
        Pair(pair=(gpus[one], gpus[other]), kind=PathKind.NVLINK if other - one == num_gpus // 2 else PathKind.SYS)
        for one in range(num_gpus)
        for other in range(one + 1, num_gpus)
    ]
    return NodeTopology(gpus=gpus, pairs=tuple(pairs))


def all_ranks(found: tuple[Islands, ...]) -> list[tuple[int, ...]]:
    return sorted(
        tuple(rank + number * row.stride for rank in row.ranks) for row in found for number in range(row.count)
    )


@given(sizes=st.lists(st.tuples(st.sampled_from([2, 4, 6]), st.booleans()), min_size=1, max_size=6))
@example(sizes=[(4, True), (4, True), (2, False), (4, True), (4, False)])
def test_parts_have_the_islands_of_the_whole_graph(sizes: list[tuple[int, bool]]) -> None:
    groups = tuple(
        NodeGroup(num_nodes=1, node=Node(device=GPU, num_devices=size, topology=crossed_pairs(size) if read else None))
        for size, read in sizes
    )
    units = tuple(size for size, _ in sizes)
    for inside in (LinkKind.NVLINK, LinkKind.PCIE):
        tiers = (
            tier("node", max(units), inside, units if len(set(units)) > 1 else ()),
            tier("network", 1024, LinkKind.ETHERNET),
        )
        cluster = ClusterSpec(name="machines", nodes=groups, tiers=tiers)
        in_full = [island for island in islands(cluster_graph(cluster)) if len(island) > 1]
        assert all_ranks(islands_of_cluster(cluster)) == in_full


def test_a_hundred_thousand_gpus_are_said_by_one_machine() -> None:
    assert islands_of_cluster(load_cluster("h100-sxm", 100_000).spec) == (Islands(tuple(range(8)), 12_500, 8),)
    # Racks of 72 in one NVLink domain, whose trays hold 4.
    assert islands_of_cluster(load_cluster("gb200-nvl72", 144).spec) == (Islands(tuple(range(72)), 2, 72),)
    assert islands_of_cluster(load_cluster("h100-sxm", 8).spec) == (Islands(tuple(range(8)), 1, 8),)
    assert islands_of_cluster(load_cluster("l40s", 100_000).spec) == ()


def test_only_islands_whose_ranks_follow_one_another_are_rows() -> None:
    assert Islands((4, 5, 6), 1, 3).is_row
    assert not Islands((4, 6), 1, 4).is_row


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        ("savio_8gpu_pxb_pix_sys_mlx5_columns.txt", (range(4), range(4, 8))),
        ("rtx4090x8_all_sys_8numa_single_space_TRUNCATED.txt", tuple(range(n, n + 1) for n in range(8))),
        ("a100x8_nv12_nvswitch_no_nics.txt", (range(8),)),
    ],
)
def test_sockets_part_the_gpus(name: str, groups: tuple[range, ...]) -> None:
    found = sockets_of_topology(parse_topology((SAMPLES / name).read_text(encoding="utf-8"), name))
    assert found.groups == tuple(tuple(f"GPU{number}" for number in group) for group in groups)
    assert found.across == ()


def test_bridges_over_sockets_leave_pairs_that_cross() -> None:
    """GPUs 0 and 1 on one socket, 2 and 3 on the other; bridges join 0 with 2 and 1 with 3."""
    kinds = {(0, 1): PathKind.PIX, (2, 3): PathKind.PIX, (0, 2): PathKind.NVLINK, (1, 3): PathKind.NVLINK}
    kinds |= {(0, 3): PathKind.SYS, (1, 2): PathKind.SYS}
    pairs = tuple(Pair(pair=(f"GPU{one}", f"GPU{other}"), kind=kind) for (one, other), kind in kinds.items())
    topology = NodeTopology(gpus=("GPU0", "GPU1", "GPU2", "GPU3"), pairs=pairs)
    assert islands_of_topology(topology) == (("GPU0", "GPU2"), ("GPU1", "GPU3"))
    found = sockets_of_topology(topology)
    assert found.groups == (topology.gpus,)
    assert found.across == (("GPU0", "GPU3"), ("GPU1", "GPU2"))
    # Without the pairs that cross, nothing is known of them, and no GPUs are said to be apart.
    cut = topology.model_copy(update={"pairs": pairs[:4]})
    assert sockets_of_topology(cut) == Sockets((topology.gpus,), (), found.across)
