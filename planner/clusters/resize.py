"""Fits a cluster to a number of GPUs: fewer than it has, or more nodes like the one that was profiled."""

from __future__ import annotations

from costmodel.errors import BadInputError
from costmodel.spec import ClusterSpec, DeviceKind, LinkKind, Source, Tier
from costmodel.units import format_rate, format_seconds

MAX_GPUS = 1_000_000

NIC_EFFICIENCY_FRAC = 0.8
"""Share of the line rate that collectives between nodes reach: median of fits on published training runs."""

CPU_NODE_RATE_BYTES_PER_S = 10e9 / 8
"""10 Gbit/s Ethernet per node: a default that is named wherever it is used."""
CPU_HOP_S = 50e-6
"""A TCP round through switch and kernel: a default that is named wherever it is used."""
GPU_RATE_BYTES_PER_S = 400e9 / 8
"""One 400 Gbit/s InfiniBand adapter per GPU, as in current training nodes: a default, named as well."""
GPU_HOP_S = 14e-6
"""NCCL's own constant for a ring step over the network (tuning.cc, ring, protocol Simple)."""


def check_num_gpus(num_gpus: int) -> None:
    """Raise BadInputError unless `num_gpus` is a number of GPUs that a cluster can have."""
    if not 1 <= num_gpus <= MAX_GPUS:
        raise BadInputError(f"--gpus is {num_gpus}, but must be a whole number from 1 to {MAX_GPUS}")


def resize(cluster: ClusterSpec, num_gpus: int, where: str) -> tuple[ClusterSpec, tuple[str, ...]]:
    """The first `num_gpus` devices of `cluster`, with sentences on what is unusual about them.

    Raises BadInputError where the cluster has fewer devices.
    """
    check_num_gpus(num_gpus)
    if num_gpus > cluster.num_devices:
        raise BadInputError(
            f"{where}: has {cluster.num_devices} devices, but --gpus is {num_gpus}; "
            "raise its num_devices or ask for fewer"
        )
    tiers: list[Tier] = []
    for tier in cluster.tiers:
        tiers.append(tier.model_copy(update={"num_devices": min(tier.num_devices, num_gpus)}))
        if tier.num_devices >= num_gpus:
            break
    small = ClusterSpec(name=cluster.name, device=cluster.device, num_devices=num_gpus, tiers=tuple(tiers))
    return small, _unequal_nodes(small)


def extend_profile_cluster(
    cluster: ClusterSpec, num_gpus: int, published: ClusterSpec | None = None
) -> tuple[ClusterSpec, tuple[str, ...]]:
    """`num_gpus` devices of the machine that was profiled: a part of it, or more nodes like it.

    The link between nodes is that of the profile if it has one, else that of `published` (the preset of the same
    device), else a default by kind of device; what was not measured is named in the sentences returned.
    """
    check_num_gpus(num_gpus)
    if num_gpus <= cluster.num_devices:
        return resize(cluster, num_gpus, cluster.name)
    nodes = f"{num_gpus} devices are nodes like the one profiled ({cluster.name}, {cluster.devices_per_node} each)"
    if len(cluster.tiers) > 1:
        outer = cluster.tiers[-1].model_copy(update={"num_devices": num_gpus})
        tiers = (*cluster.tiers[:-1], outer)
        sentence = f"{nodes}, joined as the profiled nodes are."
    else:
        node = cluster.tiers[0].model_copy(update={"num_devices": cluster.num_devices})
        outer = _default_link(cluster, published).model_copy(update={"num_devices": num_gpus})
        tiers = (node, outer)
        sentence = (
            f"{nodes}; the link between nodes is assumed: {outer.link.value} at "
            f"{format_rate(outer.bandwidth_bytes_per_s)} per device, {format_seconds(outer.latency_s)} a hop."
        )
    large = ClusterSpec(name=f"{num_gpus} x {cluster.name}", device=cluster.device, num_devices=num_gpus, tiers=tiers)
    return large, (sentence, *_unequal_nodes(large))


def _default_link(cluster: ClusterSpec, published: ClusterSpec | None) -> Tier:
    if published is not None and len(published.tiers) > 1:
        link = published.tiers[-1]
        note = f"as in the preset {published.name}: {link.note}"
        return link.model_copy(update={"source": Source.ASSUMED, "note": note})
    if cluster.device.kind is DeviceKind.CPU:
        return Tier(
            name="network",
            num_devices=cluster.num_devices + 1,
            link=LinkKind.ETHERNET,
            bandwidth_bytes_per_s=NIC_EFFICIENCY_FRAC * CPU_NODE_RATE_BYTES_PER_S / cluster.num_devices,
            latency_s=CPU_HOP_S,
            source=Source.ASSUMED,
            note="10 Gbit/s Ethernet per node, shared by its ranks, at 0.8 of line rate; 50 us a hop",
        )
    return Tier(
        name="network",
        num_devices=cluster.num_devices + 1,
        link=LinkKind.INFINIBAND,
        bandwidth_bytes_per_s=NIC_EFFICIENCY_FRAC * GPU_RATE_BYTES_PER_S,
        latency_s=GPU_HOP_S,
        source=Source.ASSUMED,
        note="400 Gbit/s InfiniBand per GPU at 0.8 of line rate; 14 us a hop as NCCL reckons",
    )


def _unequal_nodes(cluster: ClusterSpec) -> tuple[str, ...]:
    rest = cluster.num_devices % cluster.devices_per_node
    if rest == 0:
        return ()
    return (f"The last node holds {rest} devices, the others {cluster.devices_per_node}.",)
