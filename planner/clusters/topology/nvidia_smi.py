"""Reads `nvidia-smi topo -m` in the dialects that drivers, terminals and web pages give it.

Old drivers name adapters by device (`mlx5_0`), new ones `NIC0`; affinity columns come and go; cells are parted by tabs,
spaces or, in pasted text, nothing. A row is therefore read cell by cell, not column by column.
"""

from __future__ import annotations

import re

from costmodel.errors import BadInputError
from costmodel.spec.topology import NodeTopology, PathKind
from planner.clusters.text_output import lines_of, without_launcher
from planner.clusters.topology.matrix import Cell, Matrix, checked_columns, is_gpu

TOOL = "nvidia-smi topo -m"

_GPU = re.compile(r"GPU\d+")
_AFFINITY = re.compile(r"CPU\s+Affinity|NUMA\s+Affinity|GPU\s+NUMA\s+ID|\bCPU\b|\bNUMA\b")
"""What heads the columns behind the devices; the last may be cut off."""
_CELL = re.compile(r"\s*(X(?=\W|$|NV|PIX|PXB|PHB|NODE|SYS)|NV(\d{1,2})|PIX|PXB|PHB|NODE|SYS|SOC)")
_FOREIGN_CELL = re.compile(r"\s*(OK|NS|CNS|GNS|TNS|DR|U)(?=\s|$)")
_OTHER_CELL = re.compile(r"\s+(?![\d.,-])(?=\S*[A-Za-z])\S+")
"""A word where a cell should be: no affinity and no sign that something was left out."""
_DEVICE = re.compile(r"[A-Za-z][\w.-]*")
_NAME_ENDS = re.compile(r"\s|$|X|NV|PIX|PXB|PHB|NODE|SYS|SOC")
_NUMA = re.compile(r"[\d,-]{1,60}")
_NIC_LEGEND = re.compile(r"(NIC\d+)\s*[:=]\s*([\w.-]+)")
_OLD_NAMES = {"SOC": PathKind.SYS}
"""As drivers before 2017 wrote it."""


def looks_like(text: str) -> bool:
    """Whether some line of `text` heads a table of GPUs, whatever its cells are."""
    return any(_columns(without_launcher(line)) for line in lines_of(text))


def read(text: str, where: str) -> NodeTopology:
    """The machine that `text` describes.

    What is truncated or contradicts itself is named in `warnings`. Raises BadInputError where there is no such table,
    where its cells are those of another one (`topo -p2p`), or where no row of a GPU can be read.
    """
    raw = lines_of(text)
    lines = [without_launcher(line) for line in raw]
    start = next((index for index, line in enumerate(lines) if _columns(line)), None)
    if start is None:
        raise BadInputError(f"{where}: is not the output of `{TOOL}`: no line lists GPU0, GPU1 and so on")
    matrix = Matrix(checked_columns(_columns(lines[start]), where))
    affinities = _AFFINITY.findall(lines[start])
    for line in lines[start + 1 :]:
        if len(_columns(line)) > 1:
            if any(is_gpu(name) and name not in matrix.rows for name in matrix.columns):
                raise BadInputError(
                    f"{where}: a second table begins before the first is whole: it holds the lines of more than one "
                    "machine; give the output of one"
                )
            matrix.warnings.append("holds more than one table; only the first is read")
            break
        _read_row(matrix, line, affinities, where)
    for line in raw[start + 1 :]:
        matrix.nic_devices |= dict(_NIC_LEGEND.findall(line))
    if not any(is_gpu(row) for row in matrix.rows):
        raise BadInputError(f"{where}: the table of `{TOOL}` has no row of a GPU; give the whole output")
    return matrix.topology()


def _columns(line: str) -> list[str]:
    """The devices that head the columns, or nothing where the line heads no table."""
    heads = _AFFINITY.split(line, maxsplit=1)[0].split()
    if not heads or not _GPU.fullmatch(heads[0]):
        return []
    # A row begins with a GPU as well, but then come its cells.
    if any(_CELL.fullmatch(head) or _FOREIGN_CELL.fullmatch(head) for head in heads[1:]):
        return []
    return heads if all(_DEVICE.fullmatch(head) for head in heads) else []


def _read_row(matrix: Matrix, line: str, affinities: list[str], where: str) -> None:
    name = _row_name(matrix.columns, line)
    if name is None:
        return
    rest = line.lstrip()[len(name) :]
    cells, unread, position = _cells(rest, matrix.columns)
    foreign = _FOREIGN_CELL.match(rest, position)
    if foreign is not None and len(cells) < len(matrix.columns):
        raise BadInputError(
            f"{where}: row {name} holds {foreign[1]}, a cell of `nvidia-smi topo -p2p`; give the output of `{TOOL}`"
        )
    if len(cells) == len(unread):
        return
    matrix.add_row(name, cells, where)
    for column, cell in unread.items():
        matrix.add_unread(name, column, cell)
    words = rest[position:].split()
    # Where an affinity is blank, nothing says which one it is.
    if is_gpu(name) and "NUMA Affinity" in affinities and len(words) == len(affinities):
        numa = words[affinities.index("NUMA Affinity")]
        if _NUMA.fullmatch(numa):
            matrix.numa[name] = numa


def _row_name(columns: list[str], line: str) -> str | None:
    """The device that a line is the row of; its name may stand right before its first cell."""
    text = line.lstrip()
    fitting = [name for name in columns if text.startswith(name) and _NAME_ENDS.match(text[len(name) :])]
    return max(fitting, key=len, default=None)


def _cells(text: str, columns: list[str]) -> tuple[list[Cell], dict[str, str], int]:
    """The cells of `columns` from the start of `text`, those that are no cells by column, and where they end."""
    cells: list[Cell] = []
    unread: dict[str, str] = {}
    position = 0
    while len(cells) < len(columns) and (match := _next_cell(text, position)):
        if match.re is _OTHER_CELL:
            unread[columns[len(cells)]] = match[0].strip()
            cells.append(None)
            position = match.end()
            continue
        word, num_links = match[1], match[2]
        if word == "X":
            cells.append(None)
        elif num_links is not None:
            cells.append((PathKind.NVLINK, max(1, int(num_links))))
        else:
            cells.append((_OLD_NAMES.get(word) or PathKind(word), 1))
        position = match.end()
    return cells, unread, position


def _next_cell(text: str, position: int) -> re.Match[str] | None:
    found = _CELL.match(text, position)
    if found is not None or _FOREIGN_CELL.match(text, position):
        return found
    other = _OTHER_CELL.match(text, position)
    # The last word of a line may be a cell that was cut off.
    is_cut = other is not None and other.end() == len(text) and _is_start(other[0].strip())
    return None if is_cut else other


def _is_start(word: str) -> bool:
    return any(name.startswith(word) for name in ("NV", *(kind.value for kind in PathKind), *_OLD_NAMES))
