"""Ring collectives by latency and bandwidth of each tier (the ring of NCCL's own cost model, src/graph/tuning.cc)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from costmodel.price import Timed
from costmodel.spec import ClusterSpec, Collective, Source, Tier

_ROUNDS = {Collective.ALL_REDUCE: 2, Collective.ALL_GATHER: 1, Collective.REDUCE_SCATTER: 1}
"""How often the whole tensor goes round the ring."""


@dataclass(frozen=True)
class Hops:
    """The hops of a ring that cross one tier, and the bandwidth at which data crosses it."""

    tier: Tier
    num_hops: float
    bandwidth_bytes_per_s: float


def hops(cluster: ClusterSpec, num_ranks: int, stride: int) -> tuple[Hops, ...]:
    """The n - 1 hops of a ring over aligned groups of `num_ranks` ranks, `stride` apart, by the tier they cross.

    Where several ranks of a group share an inner unit, as many rings leave it side by side, each over its own
    rank's link, so the group crosses an outer tier at the sum of these links.
    """
    crossed, inside, links = [], 1, 1
    for index, tier in enumerate(cluster.tiers):
        outermost = index == len(cluster.tiers) - 1 or cluster.num_devices <= tier.num_devices
        span = num_ranks * stride
        shared = math.gcd(span, tier.num_devices) // stride if not outermost else num_ranks
        within = max(inside, min(num_ranks, shared))
        if within > inside:
            num_hops = num_ranks / inside - num_ranks / within
            crossed.append(Hops(tier, num_hops, links * tier.bandwidth_bytes_per_s))
            inside = links = within
        if inside == num_ranks:
            break
    return tuple(crossed)


def time(cluster: ClusterSpec, op: Collective, num_ranks: int, stride: int, size_bytes: float) -> Timed:
    """Latency of every hop plus bytes over the slowest crossing:

    all-gather, reduce-scatter   sum hops alpha + (n - 1) / n bytes / bandwidth      all-reduce twice that
    send_recv                    alpha + bytes / bandwidth of the tier that joins the two
    """
    if op is Collective.SEND_RECV:
        tier = cluster.tier_of(num_ranks, stride)
        return Timed(tier.latency_s + size_bytes / tier.bandwidth_bytes_per_s, _priced(tier.source))
    crossed = hops(cluster, num_ranks, stride)
    latency_s = sum(hop.num_hops * hop.tier.latency_s for hop in crossed)
    slowest_bytes_per_s = min(hop.bandwidth_bytes_per_s for hop in crossed)
    once_s = latency_s + size_bytes * (num_ranks - 1) / num_ranks / slowest_bytes_per_s
    return Timed(_ROUNDS[op] * once_s, _priced(Source.worst(*(hop.tier.source for hop in crossed))))


def _priced(source: Source) -> Source:
    """A formula on measured links is a fit."""
    return Source.FITTED if source is Source.MEASURED else source
