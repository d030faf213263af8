"""Reads a table of published runs: one row a run, cells as text, in the order of the file."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

from costmodel.errors import BadInputError
from costmodel.spec.shown import shown
from planner.files import read_text
from planner.names import alike
from planner.validation.configuration import REQUIRED, Configuration
from planner.validation.measured import Measured
from planner.validation.unsaid import Unsaid, faulty

WHAT = "runs"
MAX_ROWS = 100_000


@dataclass(frozen=True)
class Run:
    """One row: its name, what it is, and what came of it; either may be at fault."""

    id: str
    configuration: Configuration | Unsaid
    measured: Measured | Unsaid


@dataclass(frozen=True)
class RunTable:
    """All rows in order."""

    runs: tuple[Run, ...]
    has_results: bool
    """Whether the file has measured columns at all, so that there is something to score."""


def read_runs(path: Path) -> RunTable:
    """The runs in a CSV file; a row at fault stays in its place and says why.

    Raises BadInputError for a file that is no such table: not to be read, without the columns, or without rows.
    """
    text = read_text(path, WHAT)
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        rows = list(lines)
    except csv.Error as error:
        raise BadInputError(f"{WHAT} {path}: line {lines.line_num} is not CSV: {error}") from None
    header = [name.strip() for name in rows[0]] if rows else []
    _check_header(header, path)
    body = [row for row in rows[1:] if row]
    if not body:
        raise BadInputError(f"{WHAT} {path}: has columns, but no rows")
    if len(body) > MAX_ROWS:
        raise BadInputError(f"{WHAT} {path}: has {len(body):,} rows, but at most {MAX_ROWS:,} are read")
    return RunTable(tuple(_run(header, row) for row in body), "step_time_s" in header or "peak_mem_gb" in header)


def _check_header(header: list[str], path: Path) -> None:
    missing = [name for name in ("id", *REQUIRED) if name not in header]
    if missing:
        close = alike(missing[0], header, limit=1)
        hint = f"; its column {shown(close[0])} may be meant" if close else ""
        raise BadInputError(f"{WHAT} {path}: column {', '.join(missing)} is missing{hint}")
    twice = next((name for name in header if name and header.count(name) > 1), None)
    if twice is not None:
        raise BadInputError(f"{WHAT} {path}: column {shown(twice)} stands there twice")


def _run(header: list[str], row: list[str]) -> Run:
    cells = dict(zip(header, row, strict=False))
    if len(row) != len(header):
        wrong = faulty(f"the row has {len(row)} cells, but the file {len(header)} columns")
        return Run(cells.get("id", ""), wrong, wrong)
    return Run(cells["id"], Configuration.from_cells(cells), Measured.from_cells(cells))
