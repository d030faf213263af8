"""Reads the output of nccl-tests (and rccl-tests): every collective, layout and launcher prefix."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from costmodel.errors import BadInputError
from costmodel.spec import CollectiveTable, Source
from planner.clusters.nccl_tests.reader import looks_like, read_runs
from planner.clusters.table_file import read_table_file
from planner.clusters.text_output import MAX_OUTPUT_BYTES
from planner.files import read_text

__all__ = ["NamedTable", "looks_like", "read_runs", "read_tables"]


@dataclass(frozen=True)
class NamedTable:
    """A table, and where it stands."""

    where: str
    table: CollectiveTable


def read_tables(given: Any, where: str, folder: Path, source: Source) -> tuple[NamedTable, ...]:
    """The tables in the files that a key of a cluster file lists, which lie in `folder`, each with where it stands.

    A file is an output of nccl-tests, or a CSV of such figures, which is worth `source`.
    """
    if given is None:
        return ()
    if not isinstance(given, list) or not all(isinstance(name, str) and name for name in given):
        raise BadInputError(f"{where}: collectives must be a list of files: outputs of nccl-tests, or CSV")
    tables: list[NamedTable] = []
    for name in given:
        path = folder / name
        text = read_text(path, "collectives", max_bytes=MAX_OUTPUT_BYTES)
        if path.suffix == ".csv":
            place = f"collectives {path}"
            tables += [NamedTable(place, table) for table in read_table_file(text, place, source)]
        else:
            place = f"output of nccl-tests {path}"
            tables += [NamedTable(place, table) for table in read_runs(text, place, path.name)]
    return tuple(tables)
