"""Collectives round a ring of CPU ranks, by latency and bandwidth of each tier, where nothing was measured.

It is the ring of NCCL's own cost model (src/graph/tuning.cc) with one protocol and one latency a hop. Such a line
through the smallest and the largest size of a series is off by a factor of 1.8 in the median at its worst size, mostly
between 1 and 16 MiB, where NCCL changes its protocol: 93 published series, by
tests/clusters/test_collectives_by_a_line.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from costmodel.collectives.crossings import Crossing, slowest_group
from costmodel.price import Timed
from costmodel.spec import ClusterSpec, Collective


def rounds(op: Collective) -> int:
    """How often a tensor goes round the ring: an all-reduce scatters sums, then gathers them."""
    return 2 if op is Collective.ALL_REDUCE else 1


def time(cluster: ClusterSpec, op: Collective, num_ranks: int, stride: int, size_bytes: float) -> Timed:
    """Latency of every hop of every round plus what a rank sends over the slowest crossing, of the slowest group.

    What a rank sends of each byte is the bus factor of the operation: (n - 1) / n of a tensor in slices of one rank,
    all of it where slices are small enough that the hops overlap (broadcast, reduce).
    """
    moved_bytes = size_bytes * op.bus_factor(num_ranks)

    def seconds(crossed: Sequence[Crossing]) -> float:
        latency_s = sum(crossing.num_hops * crossing.tier.latency_s for crossing in crossed)
        return rounds(op) * latency_s + moved_bytes / min(crossing.bandwidth_bytes_per_s for crossing in crossed)

    return slowest_group(cluster, num_ranks, stride, seconds)
