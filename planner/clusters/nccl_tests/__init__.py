"""Reads the output of nccl-tests (and rccl-tests): every collective, layout and launcher prefix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from costmodel.errors import BadInputError
from costmodel.spec import CollectiveTable, Source
from planner.clusters.nccl_tests.reader import looks_like, read
from planner.clusters.table_file import read_table_file
from planner.clusters.text_output import MAX_OUTPUT_BYTES
from planner.files import read_text

__all__ = ["looks_like", "read", "read_tables"]


def read_tables(given: Any, where: str, folder: Path, source: Source) -> tuple[CollectiveTable, ...]:
    """The tables in the files that a key of a cluster file lists, which lie in `folder`.

    A file is an output of nccl-tests, or a CSV of such figures, which is worth `source`.
    """
    if given is None:
        return ()
    if not isinstance(given, list) or not all(isinstance(name, str) and name for name in given):
        raise BadInputError(f"{where}: collectives must be a list of files: outputs of nccl-tests, or CSV")
    tables: list[CollectiveTable] = []
    for name in given:
        path = folder / name
        text = read_text(path, "collectives", max_bytes=MAX_OUTPUT_BYTES)
        if path.suffix == ".csv":
            tables += read_table_file(text, f"collectives {path}", source)
        else:
            tables.append(read(text, f"output of nccl-tests {path}", path.name))
    return tuple(tables)
