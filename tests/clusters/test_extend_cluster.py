"""GPUs that nobody profiled: parts of a profiled machine, and more nodes like it."""

from __future__ import annotations

import pytest

from costmodel.errors import BadInputError
from costmodel.spec import (
    ClusterSpec,
    Collective,
    CollectivePoint,
    CollectiveTable,
    Device,
    DeviceKind,
    LinkKind,
    Precision,
    Source,
    Tier,
)
from planner.clusters.read import published_cluster
from planner.clusters.resize import extend_profile_cluster


def machine(kind: DeviceKind = DeviceKind.CPU, num_devices: int = 2, name: str = "a chip") -> ClusterSpec:
    device = Device(
        name=name,
        kind=kind,
        peak_flop_per_s={Precision.FP32: 1e11},
        gemm_efficiency_frac=1,
        attention_efficiency_frac=0.5,
        memory_bytes=2**33,
        mem_bandwidth_bytes_per_s=1e10,
        source=Source.MEASURED,
    )
    node = Tier(
        name="node",
        num_devices=num_devices,
        link=LinkKind.SHARED_MEMORY,
        bandwidth_bytes_per_s=3e9,
        latency_s=1e-4,
        source=Source.MEASURED,
    )
    return ClusterSpec.uniform(name="this machine", device=device, num_devices=num_devices, tiers=(node,))


def test_the_machine_itself_needs_no_assumption() -> None:
    assert extend_profile_cluster(machine(), 2) == (machine(), ())
    part, sentences = extend_profile_cluster(machine(), 1)
    assert (part.num_devices, part.tiers[0].num_devices, sentences) == (1, 1, ())


def test_more_cpus_are_more_nodes_over_assumed_ethernet() -> None:
    cluster, sentences = extend_profile_cluster(machine(), 64)
    node, network = cluster.tiers
    assert node == machine().tiers[0]
    assert (network.num_devices, network.link, network.source) == (64, LinkKind.ETHERNET, Source.ASSUMED)
    assert network.bandwidth_bytes_per_s == 0.5e9  # 10 Gbit/s = 1.25 GB/s, x 0.8 = 1 GB/s, shared by 2 ranks
    assert "link between nodes is assumed: ethernet at 500 MB/s per device, 50 us a hop" in sentences[0]


def test_more_gpus_take_the_published_link_of_the_device_or_a_default() -> None:
    gpus = machine(DeviceKind.CUDA, 8, "NVIDIA A100-SXM4-80GB")
    known, _ = extend_profile_cluster(gpus, 16, published_cluster(gpus.device.name))
    assert (known.tiers[1].bandwidth_bytes_per_s, known.tiers[1].source) == (20e9, Source.ASSUMED)
    unknown, _ = extend_profile_cluster(gpus, 16)
    assert unknown.tiers[1].bandwidth_bytes_per_s == 40e9  # 400 Gbit/s = 50 GB/s, x 0.8


def test_a_measured_link_between_nodes_is_kept() -> None:
    two_nodes, _ = extend_profile_cluster(machine(), 4)
    measured = two_nodes.model_copy(
        update={"tiers": (two_nodes.tiers[0], two_nodes.tiers[1].model_copy(update={"source": Source.MEASURED}))}
    )
    cluster, sentences = extend_profile_cluster(measured, 8)
    assert cluster.tiers[1] == measured.tiers[1].model_copy(update={"num_devices": 8})
    assert not any("assumed" in sentence for sentence in sentences)


def test_a_node_that_is_not_full_is_said() -> None:
    cluster, sentences = extend_profile_cluster(machine(num_devices=4), 7)
    assert cluster.num_devices == 7
    assert "The last node holds 3 devices, the others 4." in sentences


def test_a_single_profiled_rank_is_a_node_of_one() -> None:
    cluster, _ = extend_profile_cluster(machine(num_devices=1), 3)
    assert [tier.num_devices for tier in cluster.tiers] == [1, 3]


def measured(num_ranks: int, num_nodes: int | None = None) -> CollectiveTable:
    point = CollectivePoint(bytes=2**20, time_s=1e-3, busbw_bytes_per_s=1e9)
    return CollectiveTable(collective=Collective.ALL_REDUCE, num_ranks=num_ranks, num_nodes=num_nodes, samples=(point,))


def groups(cluster: ClusterSpec) -> list[tuple[int | None, int | None]]:
    return [(table.num_ranks, table.num_nodes) for table in cluster.tables]


def test_measured_collectives_stay_where_they_still_speak() -> None:
    """Of a machine of four, and of two of them that a measured network joins."""
    lone = machine(num_devices=4).model_copy(update={"tables": (measured(4), measured(2, 1))})
    # Four ranks without a list of hosts were one machine, also where only three or two of its devices are asked for.
    for num_gpus in (2, 3, 4, 16):
        assert groups(extend_profile_cluster(lone, num_gpus)[0]) == [(4, 1), (2, 1)]
    pair, _ = extend_profile_cluster(machine(num_devices=4), 8)
    pair = pair.model_copy(update={"tables": (measured(4), measured(8), measured(2, 2))})
    assert groups(extend_profile_cluster(pair, 16)[0]) == [(4, 1), (8, None), (2, 2)]
    assert groups(extend_profile_cluster(pair, 6)[0]) == [(4, 1), (2, 2)]


@pytest.mark.parametrize("num_gpus", [0, -5])
def test_no_gpus_are_refused(num_gpus: int) -> None:
    with pytest.raises(BadInputError, match="--gpus"):
        extend_profile_cluster(machine(), num_gpus)
