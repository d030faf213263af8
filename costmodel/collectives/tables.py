"""Collectives that were measured on such a cluster: its own runs of nccl-tests, or published ones of the same machines.

A table speaks for one operation over one number of ranks. Another number of ranks of the same kind (all within a
machine, or as many of each of several machines) takes the ratio of the measured time to NCCL's own cost model,
interpolated in log-log over the ranks and carried over to the model's time. With one published series of A100, H100,
H200 or B200 left out at a time, from 16 KiB on, such a time is off by 9 % in the median and by 27 % at the 90th
percentile (tests/clusters/test_collective_tables.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from costmodel.collectives import nccl
from costmodel.collectives.crossings import Crossing, crossings
from costmodel.collectives.sizes import interpolate
from costmodel.price import Timed
from costmodel.spec import ClusterSpec, Collective, CollectiveTable, Source

Times = Sequence[tuple[int, float]]
"""(bytes, seconds) in rising order."""


def lookup(cluster: ClusterSpec, op: Collective, num_ranks: int, stride: int, size_bytes: float) -> Timed | None:
    """The time by the tables of `cluster`, of the slowest group; None where none speaks for such a group."""
    tables = [
        table for table in cluster.tables if table.collective is op and (table.num_ranks or 0) > 1 and table.times
    ]
    if not tables:
        return None
    slowest = None
    for crossed in crossings(cluster, num_ranks, stride):
        timed = _of_group(_of_its_kind(tables, crossed, num_ranks, cluster), op, crossed, num_ranks, size_bytes)
        if timed is None:
            return None
        slowest = timed if slowest is None or timed.time_s > slowest.time_s else slowest
    return slowest


def _of_its_kind(
    tables: Sequence[CollectiveTable], crossed: Sequence[Crossing], num_ranks: int, cluster: ClusterSpec
) -> dict[int, CollectiveTable]:
    """Tables of groups that lie as this one does, by their number of ranks; of several the last one counts.

    Over the network that are groups of as many ranks on as many machines, inside a machine those of any number.
    """
    spans, num_nodes = crossed[-1].tier.link.is_network, nccl.num_nodes(crossed)
    found = {}
    for table in tables:
        assert table.num_ranks is not None
        # An output need not list its hosts; more ranks than a machine holds lie on several.
        nodes = table.num_nodes or -(-table.num_ranks // cluster.devices_per_node)
        if (nodes, table.num_ranks) == (num_nodes, num_ranks) if spans else nodes == 1:
            found[table.num_ranks] = table
    return found


def _of_group(
    by_ranks: dict[int, CollectiveTable], op: Collective, crossed: Sequence[Crossing], num_ranks: int, size_bytes: float
) -> Timed | None:
    computed_s = nccl.of_group(op, crossed, num_ranks, size_bytes)
    if num_ranks in by_ranks:
        table = by_ranks[num_ranks]
        sizes = [size for size, _ in table.times]
        if sizes[0] <= size_bytes <= sizes[-1]:
            as_measured = table.source is Source.MEASURED and size_bytes in sizes
            source = table.source if as_measured else Source.worst(table.source, Source.FITTED)
            return Timed(interpolate(table.times, size_bytes), source)
        ratio = _log_ratio(op, crossed, num_ranks, table.times, size_bytes)
        return Timed(computed_s * math.exp(ratio), Source.worst(table.source, Source.FITTED, crossed[-1].tier.source))
    if not by_ranks or len(crossed) > 1:
        # Only inside one tier is it known how another number of ranks would lie.
        return None
    below, above = [n for n in by_ranks if n < num_ranks], [n for n in by_ranks if n > num_ranks]
    nearest = [*([max(below)] if below else []), *([min(above)] if above else [])]
    ratios = [
        _log_ratio(op, (Crossing(crossed[0].tier, n - 1, 1, n),), n, by_ranks[n].times, size_bytes) for n in nearest
    ]
    weight = math.log(num_ranks / nearest[0]) / math.log(nearest[1] / nearest[0]) if len(nearest) == 2 else 0.0
    ratio = ratios[0] * (1 - weight) + ratios[-1] * weight
    source = Source.worst(Source.FITTED, crossed[0].tier.source, *(by_ranks[n].source for n in nearest))
    return Timed(computed_s * math.exp(ratio), source)


def _log_ratio(op: Collective, crossed: Sequence[Crossing], num_ranks: int, times: Times, size_bytes: float) -> float:
    """Log of measured against computed time at the size, or at the nearest that was measured."""
    size = min(max(size_bytes, times[0][0]), times[-1][0])
    return math.log(interpolate(times, size) / nccl.of_group(op, crossed, num_ranks, size))
