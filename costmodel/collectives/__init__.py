"""Time of a collective, from the first that knows it: the profile, the cluster's tables, NCCL's cost model, a line."""

from __future__ import annotations

from costmodel.collectives import measured, nccl, pairwise, ring, tables
from costmodel.price import Timed
from costmodel.setting import Setting
from costmodel.spec import ClusterSpec, Collective, DeviceKind, Source


def collective_time(setting: Setting, op: Collective, num_ranks: int, stride: int, size_bytes: float) -> Timed:
    """Time of `op` over groups of `num_ranks` ranks, `stride` apart, all groups at once.

    `size_bytes` is the whole tensor (the message for send_recv). A group of one costs nothing.
    """
    if num_ranks == 1 or size_bytes == 0:
        return Timed(0.0, Source.ANALYTIC)
    return (
        measured.lookup(setting, op, num_ranks, stride, size_bytes)
        or tables.lookup(setting.cluster, op, num_ranks, stride, size_bytes)
        or by_formula(setting.cluster, op, num_ranks, stride, size_bytes)
    )


def by_formula(cluster: ClusterSpec, op: Collective, num_ranks: int, stride: int, size_bytes: float) -> Timed:
    """The time by the tiers alone, of two ranks or more: NCCL's cost model between GPUs, a line between CPUs."""
    if op is Collective.SEND_RECV:
        return pairwise.time(cluster, op, num_ranks, stride, size_bytes)
    if cluster.device.kind is DeviceKind.CUDA:
        return nccl.time(cluster, op, num_ranks, stride, size_bytes)
    if op in pairwise.SPREAD:
        return pairwise.time(cluster, op, num_ranks, stride, size_bytes)
    return ring.time(cluster, op, num_ranks, stride, size_bytes)
