"""Operations in which ranks send to each other directly: neighbours, all to all, and one to or from all.

They go by one latency and one bandwidth of each tier. Through both ends of a published series such a line is off by a
factor of 1.8 in the median at its worst size (tests/clusters/test_collectives_by_a_line.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from costmodel.collectives.crossings import Crossing, crossings, priced, slowest_group
from costmodel.price import Timed
from costmodel.spec import ClusterSpec, Collective, Tier

SPREAD = (Collective.ALL_TO_ALL, Collective.GATHER, Collective.SCATTER)
"""Operations in which the parts of a tensor go to different ranks."""


def time(cluster: ClusterSpec, op: Collective, num_ranks: int, stride: int, size_bytes: float) -> Timed:
    """The slowest link decides, of the slowest group:

    send_recv        alpha + bytes / bandwidth of the slowest link between neighbours, of a mesh the one link to a peer
    all-to-all       alpha of the outermost tier + the largest of: share of the ranks beyond each tier's inner unit
                     x bytes / bandwidth of a rank's own link there
    gather, scatter  the same for one rank, whose links carry all other ranks' parts

    `size_bytes` is the message of send_recv, else the whole tensor of a rank, which falls into n equal parts.
    """
    if op is not Collective.SEND_RECV:
        return slowest_group(cluster, num_ranks, stride, lambda crossed: spread_s(crossed, num_ranks, size_bytes))
    links = [crossing.tier for crossed in crossings(cluster, num_ranks, stride) for crossing in crossed]
    slowest = max(links, key=lambda tier: message_s(tier, size_bytes))
    return Timed(message_s(slowest, size_bytes), priced(slowest.source))


def message_s(tier: Tier, size_bytes: float) -> float:
    """Seconds of a message between two neighbours whose link is of `tier`."""
    return tier.latency_s + size_bytes / tier.pair_bytes_per_s


def spread_s(crossed: Sequence[Crossing], num_ranks: int, size_bytes: float) -> float:
    """Each rank's parts leave over its own link of every tier at once; the slowest tier decides."""
    slowest_s = 0.0
    for crossing in crossed:
        beyond_frac = (num_ranks - crossing.num_links) / num_ranks
        rate = crossing.bandwidth_bytes_per_s / crossing.num_links
        slowest_s = max(slowest_s, beyond_frac * size_bytes / rate)
    return crossed[-1].tier.latency_s + slowest_s
