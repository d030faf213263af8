"""Collectives round a ring of ranks, by latency and bandwidth of each tier: the fallback where nothing was measured.

It is the ring of NCCL's own cost model (src/graph/tuning.cc) with one protocol and one latency a hop. Such a line is
off by a factor of 1.8 in the median at its worst size, usually between 1 and 16 MiB, where NCCL changes its protocol
(140 published series; stas00/ml-engineering, ai-dynamo/aiconfigurator and others).
"""

from __future__ import annotations

from collections.abc import Sequence

from costmodel.collectives.crossings import Crossing, crossings
from costmodel.price import Timed
from costmodel.spec import ClusterSpec, Collective, Source

ROUNDS = {Collective.ALL_REDUCE: 2, Collective.ALL_GATHER: 1, Collective.REDUCE_SCATTER: 1}
"""How often the whole tensor goes round the ring, in slices of one rank."""
PIPELINED = (Collective.BROADCAST, Collective.REDUCE)
"""The whole tensor passes every hop once, in slices small enough that the hops overlap."""


def time(cluster: ClusterSpec, op: Collective, num_ranks: int, stride: int, size_bytes: float) -> Timed:
    """Latency of every hop plus bytes over the slowest crossing, of the slowest group:

    all-gather, reduce-scatter   sum hops alpha + (n - 1) / n bytes / bandwidth      all-reduce twice that
    broadcast, reduce            sum hops alpha + bytes / bandwidth
    """
    moved_bytes = size_bytes if op in PIPELINED else size_bytes * (num_ranks - 1) / num_ranks
    kinds = crossings(cluster, num_ranks, stride)
    once_s, crossed = max(((_once_s(crossed, moved_bytes), crossed) for crossed in kinds), key=lambda kind: kind[0])
    source = priced(Source.worst(*(crossing.tier.source for crossing in crossed)))
    return Timed(ROUNDS.get(op, 1) * once_s, source)


def _once_s(crossed: Sequence[Crossing], moved_bytes: float) -> float:
    latency_s = sum(crossing.num_hops * crossing.tier.latency_s for crossing in crossed)
    return latency_s + moved_bytes / min(crossing.bandwidth_bytes_per_s for crossing in crossed)


def priced(source: Source) -> Source:
    """A formula on measured links is a fit."""
    return Source.FITTED if source is Source.MEASURED else source
