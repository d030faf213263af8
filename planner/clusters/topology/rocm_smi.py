"""Reads the table of link types that `rocm-smi --showtopotype` (and `--showtopo`) prints."""

from __future__ import annotations

import re

from costmodel.errors import BadInputError
from costmodel.spec.topology import NodeTopology, PathKind
from planner.clusters.text_output import lines_of, without_launcher
from planner.clusters.topology.matrix import Cell, Matrix, checked_columns

TOOL = "rocm-smi --showtopotype"

_TITLE = "link type between two gpus"
_HEADER = re.compile(r"\s*GPU\d+(?:\s+GPU\d+)*\s*")
_ROW = re.compile(r"\s*(GPU\d+)\s+(\S.*)")
_KINDS = {"XGMI": PathKind.XGMI, "PCIE": PathKind.PCIE}
_ITSELF = {"0", "N/A", "SELF"}


def looks_like(text: str) -> bool:
    """Whether `text` holds the title of the table."""
    return any(_TITLE in line.lower() for line in lines_of(text))


def read(text: str, where: str) -> NodeTopology:
    """The machine that `text` describes; what is missing is named in `warnings`.

    Raises BadInputError where there is no such table, or where a cell is neither XGMI nor PCIE.
    """
    lines = [without_launcher(line) for line in lines_of(text)]
    title = next((index for index, line in enumerate(lines) if _TITLE in line.lower()), None)
    if title is None:
        raise BadInputError(f"{where}: is not the output of `{TOOL}`: it has no table of link types")
    table = _table(lines[title + 1 :])
    header = next((index for index, line in enumerate(table) if _HEADER.fullmatch(line)), None)
    if header is None:
        raise BadInputError(f"{where}: the table of link types of `{TOOL}` names no GPUs; give the whole output")
    matrix = Matrix(checked_columns(table[header].split(), where))
    for line in table[header + 1 :]:
        row = _ROW.fullmatch(line)
        if row is not None and row[1] in matrix.columns:
            words = row[2].split()[: len(matrix.columns)]
            matrix.add_row(row[1], [_cell(word, row[1], where) for word in words], where)
    if not matrix.rows:
        raise BadInputError(f"{where}: the table of link types of `{TOOL}` has no rows; give the whole output")
    return matrix.topology()


def _table(lines: list[str]) -> list[str]:
    """The lines up to the next title."""
    end = next((index for index, line in enumerate(lines) if line.strip().startswith("====")), len(lines))
    return lines[:end]


def _cell(word: str, row: str, where: str) -> Cell:
    if word in _ITSELF:
        return None
    kind = _KINDS.get(word.upper())
    if kind is None:
        raise BadInputError(f"{where}: row {row} holds {word[:60]}, but a link of `{TOOL}` is XGMI or PCIE")
    return kind, 1
