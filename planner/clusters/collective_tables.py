"""Which measured collectives price a cluster: its own, then those that were published of such machines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from costmodel.errors import BadInputError
from costmodel.spec import Collective, CollectiveTable, Source
from planner.clusters.nccl_tests import NamedTable, read_tables
from planner.clusters.nodes import Machines
from planner.clusters.presets import FOLDER, preset_data, preset_of_device
from planner.clusters.published_links import joins_as_published
from planner.clusters.table_fit import Room


@dataclass(frozen=True)
class Tables:
    """The tables of a cluster, and sentences on what they are worth and which of them count."""

    tables: tuple[CollectiveTable, ...]
    assumptions: tuple[str, ...]


def own_tables(data: Mapping[str, Any], where: str, folder: Path, source: Source, room: Room) -> Tables:
    """The tables that a file holds or lists, those of equal groups as one.

    A table that prices nothing in `room` is left out and named. Raises BadInputError for a faulty one.
    """
    stated = data.get("tables") or []
    if not isinstance(stated, list):
        raise BadInputError(f"{where}: tables must be a list of measured collectives")
    named = [
        NamedTable(place, CollectiveTable.from_data(table, place))
        for place, table in ((f"{where}: tables.{index}", table) for index, table in enumerate(stated))
    ]
    named += read_tables(data.get("collectives"), where, folder, source)
    placed = [room.placed(item.table) for item in named]
    misfits = [room.misfit(table) for table in placed]
    alike: dict[_Group, list[CollectiveTable]] = {}
    for table, why in zip(placed, misfits, strict=True):
        if not why:
            alike.setdefault((*_group(table), table.source), []).append(table)
    # Of tables of one group the last one counts, and what was measured counts before what was published.
    tables = tuple(sorted(map(_joined, alike.values()), key=lambda table: table.source is Source.MEASURED))
    sentences = [said for item, why in zip(named, misfits, strict=True) for said in _sentences(item, why)]
    measured = [table for table in tables if table.source is Source.MEASURED]
    if measured:
        sentences.append(f"Measured times of one's own price {_named(measured)}.")
    return Tables(tables, tuple(dict.fromkeys(sentences)))


_Group = tuple[Collective, int | None, int | None, Source]


def _group(table: CollectiveTable) -> tuple[Collective, int | None, int | None]:
    return table.collective, table.num_ranks, table.num_nodes


def _sentences(item: NamedTable, why: str) -> Iterator[str]:
    for warning in item.table.warnings:
        yield f"{item.where}: {warning}."
    if why:
        yield f"{item.where}: its times of {item.table.collective.value} price nothing, since {why}."


def _joined(tables: Sequence[CollectiveTable]) -> CollectiveTable:
    """Runs over equal groups as one table, in which each size has a time of every run."""
    first, *others = tables
    if not others:
        return first
    return CollectiveTable(
        collective=first.collective,
        num_ranks=first.num_ranks,
        num_nodes=first.num_nodes,
        source=first.source,
        devices=tuple(dict.fromkeys(device for table in tables for device in table.devices)),
        samples=tuple(sample for table in tables for sample in table.samples),
        warnings=tuple(dict.fromkeys(warning for table in tables for warning in table.warnings)),
    )


def with_published(own: Tables, machines: Machines, *, own_network: bool) -> Tables:
    """`own` and, for other operations and groups, what was published of equal machines whose links a preset says."""
    nodes = [group.node for group in machines.groups]
    is_one_kind = len({node.device.name for node in nodes}) == 1
    preset = machines.preset or (preset_of_device(nodes[0].device.name) if is_one_kind else None)
    listed = preset_data(preset).get("collectives") if preset is not None else None
    if listed and not all(joins_as_published(node) for node in machines.whole):
        said = f"Published times of {preset} price nothing, since the topology says other links than theirs."
        return Tables(own.tables, (*own.assumptions, said))
    known = {_group(table) for table in own.tables}
    # What was measured between the machines of a preset says nothing of others, nor of those at several sites.
    is_at_one_site = len({node.site for node in nodes}) == 1
    is_joined_alike = machines.preset is not None and not own_network and is_at_one_site
    published = tuple(
        item.table
        for item in read_tables(listed, f"preset {preset}", FOLDER, Source.ANALYTIC)
        if (item.table.num_nodes == 1 or is_joined_alike) and _group(item.table) not in known
    )
    sentences = own.assumptions
    if published and any(table.source is Source.MEASURED for table in own.tables):
        sentences += (f"Published times of {preset} price the collectives not among one's own: {_named(published)}.",)
    return Tables((*published, *own.tables), sentences)


def _named(tables: Sequence[CollectiveTable]) -> str:
    """`all_reduce over 4, 8 ranks; all_gather over 16 ranks on 2 machines`, and in between."""
    found: dict[tuple[Collective, int], set[int]] = {}
    for table in tables:
        found.setdefault((table.collective, table.num_nodes or 1), set()).add(table.num_ranks or 0)
    alike: dict[str, list[str]] = {}
    for (op, num_nodes), ranks in found.items():
        machines = f" on {num_nodes} machines" if num_nodes > 1 else ""
        alike.setdefault(f"{', '.join(map(str, sorted(ranks)))} ranks{machines}", []).append(op.value)
    return "; ".join(f"{', '.join(ops)} over {group}" for group, ops in alike.items())
