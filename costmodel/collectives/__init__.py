"""Time of a collective: from the profile where it was measured, else by the ring formula on the cluster's tiers."""

from __future__ import annotations

from costmodel.collectives import measured, ring
from costmodel.price import Timed
from costmodel.setting import Setting
from costmodel.spec import Collective, Source


def collective_time(setting: Setting, op: Collective, num_ranks: int, stride: int, size_bytes: float) -> Timed:
    """Time of `op` over groups of `num_ranks` ranks, `stride` apart, all groups at once.

    `size_bytes` is the whole tensor (the message for send_recv). A group of one costs nothing.
    """
    if num_ranks == 1 or size_bytes == 0:
        return Timed(0.0, Source.ANALYTIC)
    return measured.lookup(setting, op, num_ranks, stride, size_bytes) or ring.time(
        setting.cluster, op, num_ranks, stride, size_bytes
    )
