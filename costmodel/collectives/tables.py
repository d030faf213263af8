"""Collectives that were measured on such a cluster: its own runs of nccl-tests, or published ones of the same machines.

A table speaks for one operation over one number of ranks, and for groups that lie as its own did: inside the same unit,
or on all devices of several machines. Another number of such ranks takes the ratio of the measured time to NCCL's own
cost model, interpolated in log-log over the ranks and carried over to the model's time. With one published series
inside a machine of A100, H100, H200 or B200 left out at a time, from 16 KiB on, such a time is off by a factor of 1.08
in the median and of 1.26 at the 90th percentile; series that the links were fitted to are not counted
(tests/clusters/test_collective_tables.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from costmodel.collectives import nccl, pairwise
from costmodel.collectives.crossings import Crossing, crossings
from costmodel.collectives.sizes import interpolate
from costmodel.price import Timed
from costmodel.spec import ClusterSpec, Collective, CollectiveTable, LinkKind, Source
from costmodel.spec.link import joined_without_network


def lookup(cluster: ClusterSpec, op: Collective, num_ranks: int, stride: int, size_bytes: float) -> Timed | None:
    """The time by the tables of `cluster`, of the slowest group; None where none speaks for such a group."""
    measured = [_Measured.of(table, cluster) for table in cluster.tables if table.collective is op and table.times]
    known = [each for each in measured if each is not None]
    if not known:
        return None
    slowest = None
    for crossed in crossings(cluster, num_ranks, stride):
        timed = _of_group(known, op, crossed, num_ranks, size_bytes)
        if timed is None:
            return None
        slowest = timed if slowest is None or timed.time_s > slowest.time_s else slowest
    return slowest


@dataclass(frozen=True)
class _Measured:
    """A table, and what the ring of its group crossed."""

    table: CollectiveTable
    num_ranks: int
    crossed: tuple[Crossing, ...]

    @classmethod
    def of(cls, table: CollectiveTable, cluster: ClusterSpec) -> _Measured | None:
        """None where nobody says how its ranks lay, or where they left some of a machine's devices idle.

        These would have had the adapters to themselves, which all groups of a step share.
        """
        num_ranks, per_unit = table.num_ranks, joined_without_network(cluster.tiers)
        if num_ranks is None or num_ranks < 2:
            return None
        # An output need not list its hosts; more ranks than a machine holds lie on several.
        num_units = table.num_nodes or -(-num_ranks // per_unit)
        if num_units > 1 and num_ranks != num_units * per_unit:
            return None
        crossed = _laid_out(cluster, num_ranks, num_units)
        return None if crossed is None else cls(table, num_ranks, crossed)

    def log_ratio(self, op: Collective, size_bytes: float) -> float:
        """Log of measured against computed time at the size, or at the nearest that was measured.

        Below the smallest size it halves with every halving: what bounds large messages says little of small ones.
        """
        times = self.table.times
        size = min(max(size_bytes, times[0][0]), times[-1][0])
        fading = min(1.0, size_bytes / times[0][0])
        return fading * math.log(interpolate(times, size) / _computed_s(op, self.crossed, self.num_ranks, size))


def _laid_out(cluster: ClusterSpec, num_ranks: int, num_units: int) -> tuple[Crossing, ...] | None:
    """What a ring through `num_units` units of `cluster` crosses, filled with `num_ranks` ranks; None for no such ring.

    The cluster may be a part of the one that was measured, or have smaller units with the same links inside.
    """
    inner = [tier for tier in cluster.tiers if not tier.link.is_network]
    if num_units == 1:
        if len(inner) == 1:
            return (Crossing(inner[0], num_ranks - 1, 1, num_ranks),)
        kinds = crossings(cluster, num_ranks, 1) if num_ranks <= cluster.num_devices else ()
        return next((kind for kind in kinds if not kind[-1].tier.link.is_network), None)
    # A wide-area link is no network that machines were measured over, and unequal units are filled in many ways.
    outer = next((tier for tier in cluster.tiers if tier.link.is_network), None)
    if outer is None or outer.link is LinkKind.WAN or any(tier.unit_sizes for tier in inner):
        return None
    if len(inner) > 1:
        kinds = crossings(cluster, num_ranks, 1) if num_ranks <= cluster.num_devices else ()
        return next((kind for kind in kinds if kind[-1].tier == outer), None)
    per_unit = num_ranks // num_units
    across = Crossing(outer, num_units - 1, per_unit, num_ranks)
    return (Crossing(inner[0], num_ranks - num_units, 1, per_unit), across) if inner else (across,)


def _computed_s(op: Collective, crossed: Sequence[Crossing], num_ranks: int, size_bytes: float) -> float:
    if op is Collective.SEND_RECV:
        return max(pairwise.message_s(crossing.tier, size_bytes) for crossing in crossed)
    return nccl.of_group(op, crossed, num_ranks, size_bytes)


def _of_group(
    known: Sequence[_Measured], op: Collective, crossed: Sequence[Crossing], num_ranks: int, size_bytes: float
) -> Timed | None:
    # Of several that speak for a number of ranks the last one counts.
    alike = {each.num_ranks: each for each in known if _lie_alike(each.crossed, crossed)}
    if not alike:
        return None
    computed_s = _computed_s(op, crossed, num_ranks, size_bytes)
    if num_ranks in alike:
        table = alike[num_ranks].table
        if table.times[0][0] <= size_bytes <= table.times[-1][0]:
            is_printed = table.source is Source.MEASURED and size_bytes in table.measured_bytes
            source = table.source if is_printed else Source.worst(table.source, Source.FITTED)
            return Timed(interpolate(table.times, size_bytes), source)
        source = Source.worst(table.source, Source.FITTED, crossed[-1].tier.source)
        return Timed(computed_s * math.exp(alike[num_ranks].log_ratio(op, size_bytes)), source)
    below, above = [n for n in alike if n < num_ranks], [n for n in alike if n > num_ranks]
    nearest = [*([max(below)] if below else []), *([min(above)] if above else [])]
    ratios = [alike[n].log_ratio(op, size_bytes) for n in nearest]
    weight = math.log(num_ranks / nearest[0]) / math.log(nearest[1] / nearest[0]) if len(nearest) == 2 else 0.0
    ratio = ratios[0] * (1 - weight) + ratios[-1] * weight
    source = Source.worst(Source.FITTED, *(crossing.tier.source for crossing in crossed))
    return Timed(computed_s * math.exp(ratio), Source.worst(source, *(alike[n].table.source for n in nearest)))


def _lie_alike(one: Sequence[Crossing], other: Sequence[Crossing]) -> bool:
    """Whether two groups cross the same tiers, with as many members in every unit but those of the outermost."""
    return [crossing.tier for crossing in one] == [crossing.tier for crossing in other] and [
        crossing.num_members for crossing in one[:-1]
    ] == [crossing.num_members for crossing in other[:-1]]
