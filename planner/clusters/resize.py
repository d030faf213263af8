"""Fits a cluster to a number of GPUs: fewer than it has, or more nodes like the one that was profiled."""

from __future__ import annotations

from collections import Counter

from costmodel.errors import BadInputError
from costmodel.spec import ClusterSpec, CollectiveTable, DeviceKind, LinkKind, NodeGroup, Source, Tier
from costmodel.spec.cluster import MAX_CLUSTER_DEVICES
from costmodel.units import counted, format_rate, format_seconds
from planner.clusters.fitting import fitted
from planner.clusters.links import HOP_S, NIC_EFFICIENCY_FRAC
from planner.clusters.nodes import Machines

CPU_NODE_RATE_BYTES_PER_S = 10e9 / 8
"""10 Gbit/s Ethernet per node: a default that is named wherever it is used."""
GPU_RATE_BYTES_PER_S = 400e9 / 8
"""One 400 Gbit/s InfiniBand adapter per GPU, as in current training nodes: a default, named as well."""


def check_num_gpus(num_gpus: int) -> None:
    """Raise BadInputError unless `num_gpus` is a number of GPUs that a cluster can have."""
    if not 1 <= num_gpus <= MAX_CLUSTER_DEVICES:
        raise BadInputError(f"--gpus is {num_gpus}, but must be a whole number from 1 to {MAX_CLUSTER_DEVICES}")


def extend_profile_cluster(
    cluster: ClusterSpec, num_gpus: int, published: ClusterSpec | None = None
) -> tuple[ClusterSpec, tuple[str, ...]]:
    """`num_gpus` devices of the machine that was profiled: a part of it, or more nodes like it.

    The link between nodes is that of the profile if it has one, else that of `published` (the preset of the same
    device), else a default by kind of device; what was not measured is named in the sentences returned.
    """
    check_num_gpus(num_gpus)
    if num_gpus <= cluster.num_devices:
        nodes = Machines.of(cluster.nodes).filled(num_gpus).groups
        tiers = fitted(cluster.tiers, nodes, num_gpus)
        tables = _tables_within(cluster, num_gpus)
        part = ClusterSpec(name=cluster.name, nodes=nodes, tiers=tiers, tables=tables)
        return part, unequal_nodes(part)
    node = cluster.nodes[0].node
    nodes = Machines.of((NodeGroup(num_nodes=1, node=node),), is_open=True).filled(num_gpus).groups
    what = f"{num_gpus} devices are nodes like the one profiled ({cluster.name}, {node.num_devices} each)"
    if cluster.tiers[-1:] and cluster.tiers[-1].link.is_network:
        *inner, outer = cluster.tiers
        tables = _tables_within(cluster, num_gpus)
        sentence = f"{what}, joined as the profiled nodes are."
    else:
        # A tier that holds exactly the machine stands for it; there is none in a machine of one device.
        inner, outer = list(cluster.tiers), _default_link(cluster, published)
        tables = _tables_within(cluster, cluster.num_devices)
        sentence = (
            f"{what}; the link between nodes is assumed: {outer.link.value} at "
            f"{format_rate(outer.bandwidth_bytes_per_s)} per device, {format_seconds(outer.latency_s)} a hop."
        )
    tiers = fitted((*inner, outer.model_copy(update={"num_devices": num_gpus})), nodes, num_gpus)
    large = ClusterSpec(name=f"{num_gpus} x {cluster.name}", nodes=nodes, tiers=tiers, tables=tables)
    return large, (sentence, *unequal_nodes(large))


def _tables_within(cluster: ClusterSpec, num_gpus: int) -> tuple[CollectiveTable, ...]:
    """The tables of `cluster` that speak of its machines, or of groups over several of at most `num_gpus` ranks."""
    tables = (table.within(cluster.devices_per_node) for table in cluster.tables if table.num_ranks is not None)
    return tuple(table for table in tables if table.num_nodes == 1 or (table.num_ranks or 0) <= num_gpus)


def unequal_nodes(cluster: ClusterSpec) -> tuple[str, ...]:
    """A sentence where the machines hold different numbers of devices."""
    sizes = Counter(cluster.node_sizes)
    if len(sizes) == 1:
        return ()
    *others, last = cluster.node_sizes
    if set(others) == {cluster.devices_per_node}:
        return (f"The last node holds {counted(last, 'device')}, the others {cluster.devices_per_node}.",)
    counts = ", ".join(f"{count} of {size}" for size, count in sorted(sizes.items(), reverse=True))
    return (f"The nodes hold different numbers of devices: {counts}.",)


def _default_link(cluster: ClusterSpec, published: ClusterSpec | None) -> Tier:
    if published is not None:
        link = next((tier for tier in published.tiers if tier.link.is_network), None)
        if link is not None:
            note = f"as in the preset {published.name}: {link.note}"
            return link.model_copy(update={"source": Source.ASSUMED, "note": note})
    if cluster.device.kind is DeviceKind.CPU:
        return Tier(
            name="network",
            num_devices=cluster.num_devices + 1,
            link=LinkKind.ETHERNET,
            bandwidth_bytes_per_s=NIC_EFFICIENCY_FRAC * CPU_NODE_RATE_BYTES_PER_S / cluster.num_devices,
            latency_s=HOP_S[LinkKind.ETHERNET],
            source=Source.ASSUMED,
            note="10 Gbit/s Ethernet per node, shared by its ranks, at 0.8 of line rate; 50 us a hop",
        )
    return Tier(
        name="network",
        num_devices=cluster.num_devices + 1,
        link=LinkKind.INFINIBAND,
        bandwidth_bytes_per_s=NIC_EFFICIENCY_FRAC * GPU_RATE_BYTES_PER_S,
        latency_s=HOP_S[LinkKind.INFINIBAND],
        source=Source.ASSUMED,
        note="400 Gbit/s InfiniBand per GPU at 0.8 of line rate; 14 us a hop as NCCL reckons",
    )
