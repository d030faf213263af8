"""What joins the GPUs of a cluster or a machine: islands, sockets, and what the rings of a layout meet on their way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from rich.console import Console

from costmodel import units
from costmodel.spec import ClusterSpec, DeviceKind, NodeTopology
from costmodel.units import counted
from planner.cli.console import line, table
from planner.clusters.islands import Islands, Sockets, islands_of_cluster, islands_of_topology, sockets_of_topology
from planner.clusters.rings import Axis, Link, Ring, rings_of_cluster, rings_of_topology

MAX_LISTED = 8
"""Islands, pairs or kinds of groups that are named; `--json` has all."""


@dataclass(frozen=True)
class ClusterJoins:
    """Of a cluster, by its ranks."""

    cluster: ClusterSpec
    islands: tuple[Islands, ...]
    sockets: tuple[tuple[range, Sockets], ...]
    """By rows of machines; only of those of several GPUs whose topology was read."""
    rings: tuple[Ring, ...]


@dataclass(frozen=True)
class TopologyJoins:
    """Of one machine, by the names of its GPUs."""

    gpus: tuple[str, ...]
    islands: tuple[tuple[str, ...], ...]
    sockets: Sockets
    rings: tuple[Ring, ...]


def joins_of_cluster(cluster: ClusterSpec, axes: Sequence[Axis]) -> ClusterJoins:
    """With the rings of `axes`, whose degrees multiply to the devices of `cluster`; without axes there are none."""
    sockets = []
    end = 0
    for group in cluster.nodes:
        start, end = end, end + group.num_nodes
        if group.node.topology is not None and group.node.num_devices > 1:
            sockets.append((range(start, end), sockets_of_topology(group.node.topology)))
    rings = rings_of_cluster(cluster, axes) if axes else ()
    return ClusterJoins(cluster, islands_of_cluster(cluster), tuple(sockets), rings)


def joins_of_topology(topology: NodeTopology, axes: Sequence[Axis], where: str) -> TopologyJoins:
    """The same of one machine.

    Raises BadInputError where `axes` do not fit it, or where its topology leaves out a pair on the way.
    """
    rings = rings_of_topology(topology, axes, where) if axes else ()
    return TopologyJoins(topology.gpus, islands_of_topology(topology), sockets_of_topology(topology), rings)


def cluster_joins_object(joins: ClusterJoins) -> dict[str, Any]:
    """Islands as repeated rows of ranks, sockets by machines, and rings where there are some."""
    return {
        "islands": [
            {"ranks": list(found.ranks), "count": found.count, "stride": found.stride} for found in joins.islands
        ],
        "sockets": [
            {"first_machine": machines.start, "num_machines": len(machines), **_sockets_object(found)}
            for machines, found in joins.sockets
        ],
        **_rings_object(joins.rings),
    }


def topology_joins_object(joins: TopologyJoins) -> dict[str, Any]:
    """The same by names."""
    return {
        "islands": [list(island) for island in joins.islands],
        "sockets": _sockets_object(joins.sockets),
        **_rings_object(joins.rings),
    }


def print_cluster_joins(console: Console, joins: ClusterJoins) -> None:
    """A line each on islands and sockets, then a table of the rings."""
    cluster = joins.cluster
    if cluster.num_devices > 1 and cluster.device.kind is not DeviceKind.CPU:
        if joins.islands or len(cluster.devices) == 1:
            console.print(line(_islands_sentence(joins.islands, cluster.num_devices)))
        else:
            console.print(line("NVLink or xGMI islands are not told, since machines differ inside."))
    for machines, found in joins.sockets:
        sentence = _sockets_words(found)
        if len(machines) < len(cluster.node_sizes):
            sentence = f"Machine{'s' * (len(machines) > 1)} {_ranges(machines)}: {sentence}"
        elif len(machines) > 1:
            sentence = f"Each machine: {sentence}"
        console.print(line(f"{sentence[0].upper()}{sentence[1:]}."))
    _print_rings(console, joins.rings)


def print_topology_joins(console: Console, joins: TopologyJoins) -> None:
    """The same of one machine; a lone GPU is joined to no other."""
    if len(joins.gpus) == 1:
        return
    islands = [named_in_short(island) for island in joins.islands if len(island) > 1]
    console.print(line(f"NVLink or xGMI islands: {_listed(islands, len(islands)) or 'none'}."))
    words = _sockets_words(joins.sockets)
    console.print(line(f"{words[0].upper()}{words[1:]}."))
    _print_rings(console, joins.rings)


def _islands_sentence(islands: Sequence[Islands], num_devices: int) -> str:
    """`8 of 8 ranks`; with their ranks where they differ, leave ranks out or are no rows."""
    held = sum(len(found.ranks) * found.count for found in islands)
    if held == num_devices and len({len(found.ranks) for found in islands}) == 1 and all(f.is_row for f in islands):
        texts = [f"{sum(found.count for found in islands):,} of {len(islands[0].ranks):,} ranks"]
    else:
        texts = [f"{found.count:,} of {len(found.ranks):,} ranks ({_places(found)})" for found in islands]
    alone = f", {counted(num_devices - held, 'rank')} in none" if islands and held < num_devices else ""
    return f"NVLink or xGMI islands: {_listed(texts, len(texts)) or 'none'}{alone}."


def _places(found: Islands) -> str:
    if found.is_row and found.stride == len(found.ranks):
        return _ranges(range(found.ranks[0], found.ranks[0] + found.count * found.stride))
    return _ranges(found.ranks) + (f", then every {found.stride:,}" if found.count > 1 else "")


def _sockets_words(found: Sockets) -> str:
    """`GPU0-3 and GPU4-7 are on different sockets (SYS)`; single pairs where these do not part the GPUs."""
    *others, last = (named_in_short(group) for group in found.groups)
    if not others:
        apart = []
    elif len(found.groups) > 2 and all(len(group) == 1 for group in found.groups):
        apart = ["any two GPUs are on different sockets (SYS)"]
    else:
        apart = [f"{', '.join(others)} and {last} are on different sockets (SYS)"]
    if found.across:
        pairs = _listed((f"{one} and {other}" for one, other in found.across), len(found.across))
        apart.append(f"data crosses a socket (SYS) between {pairs}")
    if not apart:
        apart.append("between no two GPUs does data cross a socket")
    if found.unknown:
        pairs = _listed((f"{one} and {other}" for one, other in found.unknown), len(found.unknown))
        apart.append(f"what joins {pairs} is not said")
    return "; ".join(apart)


def _sockets_object(found: Sockets) -> dict[str, Any]:
    return {name: [list(gpus) for gpus in getattr(found, name)] for name in ("groups", "across", "unknown")}


def named_in_short(names: Sequence[str], word: str = "GPU") -> str:
    """`GPU0-3,6`, or the names as they are where they are not a `word` with numbers."""
    numbers = [name.removeprefix(word) for name in names]
    if not all(number.isdecimal() for number in numbers):
        return ", ".join(names)
    return f"{word}{_ranges(map(int, numbers))}"


def _ranges(numbers: Iterable[int]) -> str:
    """Rising numbers as `0-3,6`."""
    rows: list[list[int]] = []
    for number in numbers:
        if rows and number == rows[-1][-1] + 1:
            rows[-1][1:] = [number]
        else:
            rows.append([number])
    return ",".join("-".join(map(str, row)) for row in rows)


def _listed(texts: Iterable[str], total: int) -> str:
    """The first few of `total` texts, and how many are left."""
    shown = list(islice(texts, MAX_LISTED))
    return "; ".join(shown) + (f" and {total - len(shown):,} more" if total > len(shown) else "")


def _rings_object(rings: Sequence[Ring]) -> dict[str, Any]:
    objects = [
        {
            "axis": ring.axis.name,
            "degree": ring.axis.degree,
            "stride": ring.stride,
            "slowest": None if ring.slowest is None else _link_object(ring.slowest),
            "kinds": [
                {
                    "num_groups": kind.num_groups,
                    "first_rank": kind.first_rank,
                    "hops": [{**_link_object(link), "num_hops": number} for link, number in kind.hops],
                }
                for kind in ring.kinds
            ],
        }
        for ring in rings
    ]
    return {"rings": objects} if objects else {}


def _link_object(link: Link) -> dict[str, Any]:
    return {"name": link.name, "link": link.kind, "bandwidth_bytes_per_s": link.bandwidth_bytes_per_s}


def _print_rings(console: Console, rings: Sequence[Ring]) -> None:
    """A row for each axis, and one more for each further way that its groups lie."""
    if not rings:
        return
    rows = []
    for ring in rings:
        facts = (ring.axis.name, str(ring.axis.degree), str(ring.stride))
        slowest = "" if ring.slowest is None else _link(ring.slowest)
        for kind in ring.kinds[:MAX_LISTED]:
            hops = ", ".join(f"{number} {link.name}" for link, number in kind.hops)
            rows.append((*facts, f"{kind.num_groups:,}", hops or "none", slowest))
            facts, slowest = ("", "", ""), ""
        left = ring.kinds[MAX_LISTED:]
        if left:
            rows.append((*facts, f"{sum(kind.num_groups for kind in left):,}", f"{len(left)} other ways", ""))
    console.print()
    console.print(table(("axis", "ranks", "apart", "groups", "hops of a ring", "slowest link"), rows))


def _link(link: Link) -> str:
    rate = link.bandwidth_bytes_per_s
    return link.name if rate is None else f"{link.name}: {link.kind} {units.format_rate(rate)}"
