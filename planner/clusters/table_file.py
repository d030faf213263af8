"""Reads measured collectives from a CSV file: what is left of many runs, in five columns.

    collective,num_ranks,num_nodes,bytes,time_us

Lines that begin with # say where the figures come from. Times are those of one call, out of place.
"""

from __future__ import annotations

from collections.abc import Iterator

from costmodel.errors import BadInputError
from costmodel.spec import Collective, CollectivePoint, CollectiveTable, Source
from costmodel.spec.shown import shown

COLUMNS = ["collective", "num_ranks", "num_nodes", "bytes", "time_us"]
MAX_ROWS = 20_000


def is_table_file(text: str) -> bool:
    """Whether the first line of `text` that is no comment names the columns."""
    return next(_lines(text), (0, [""]))[1] == COLUMNS


def read_table_file(text: str, where: str, source: Source) -> tuple[CollectiveTable, ...]:
    """The tables in `text`, one per collective and number of ranks and machines.

    Raises BadInputError naming the line at fault.
    """
    lines = list(_lines(text))
    header = lines[0][1] if lines else []
    if header != COLUMNS:
        raise BadInputError(f"{where}: its columns are {shown(header)}, but must be {', '.join(COLUMNS)}")
    if len(lines) == 1:
        raise BadInputError(f"{where}: has columns and no row; give one for each size that was measured")
    if len(lines) > MAX_ROWS:
        raise BadInputError(f"{where}: has {len(lines)} rows, but at most {MAX_ROWS} are read")
    points: dict[tuple[Collective, int, int], list[CollectivePoint]] = {}
    for number, row in lines[1:]:
        op, num_ranks, num_nodes, size_bytes, time_s = _row(row, f"{where}: line {number}")
        rate = op.bus_factor(num_ranks) * size_bytes / time_s
        point = CollectivePoint(bytes=size_bytes, time_s=time_s, busbw_bytes_per_s=rate)
        points.setdefault((op, num_ranks, num_nodes), []).append(point)
    return tuple(
        CollectiveTable(collective=op, num_ranks=num_ranks, num_nodes=num_nodes, samples=tuple(samples), source=source)
        for (op, num_ranks, num_nodes), samples in points.items()
    )


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """Numbers and cells of the lines that are no comments; no cell holds a comma or a quote."""
    for number, line in enumerate(text.splitlines(), 1):
        if line and not line.startswith("#"):
            yield number, line.split(",")


def _row(row: list[str], place: str) -> tuple[Collective, int, int, int, float]:
    if len(row) != len(COLUMNS):
        raise BadInputError(f"{place}: has {len(row)} cells, but needs {len(COLUMNS)}")
    ops = [op.value for op in Collective]
    if row[0] not in ops:
        raise BadInputError(f"{place}: collective is {shown(row[0])}, but must be one of {', '.join(ops)}")
    num_ranks, num_nodes, size_bytes = (
        _whole(cell, name, place) for cell, name in zip(row[1:4], COLUMNS[1:4], strict=True)
    )
    if num_ranks < 2 or num_ranks % num_nodes:
        raise BadInputError(f"{place}: {num_ranks} ranks on {num_nodes} machines are no group of equal parts")
    try:
        time_us = float(row[4])
    except ValueError:
        time_us = 0.0
    if not 0 < time_us < 1e12:
        raise BadInputError(f"{place}: time_us is {shown(row[4])}, but must be microseconds above 0")
    return Collective(row[0]), num_ranks, num_nodes, size_bytes, time_us / 1e6


def _whole(cell: str, name: str, place: str) -> int:
    if not (cell.isascii() and cell.isdigit() and len(cell) <= 18 and int(cell) > 0):
        raise BadInputError(f"{place}: {name} is {shown(cell)}, but must be a whole number above 0")
    return int(cell)
