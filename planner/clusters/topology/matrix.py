"""A table of devices against devices, one cell a pair: what the tools of both vendors print."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from costmodel.errors import BadInputError
from costmodel.spec.shown import shown
from costmodel.spec.topology import MAX_DEVICES, NodeTopology, Pair, PathKind

MAX_NAMED = 4
"""Pairs or devices that one warning names."""

Cell = tuple[PathKind, int] | None
"""What joins the pair and how many links; None for a device with itself, or where the tool does not say."""


@dataclass
class Matrix:
    """A table while it is read."""

    columns: list[str]
    cells: dict[tuple[str, str], Cell] = field(default_factory=dict)
    """By row and column."""
    rows: list[str] = field(default_factory=list)
    numa: dict[str, str] = field(default_factory=dict)
    nic_devices: dict[str, str] = field(default_factory=dict)
    unread: set[frozenset[str]] = field(default_factory=set)
    """Pairs with a cell that is none of the tool's."""
    warnings: list[str] = field(default_factory=list)

    def add_row(self, name: str, cells: list[Cell], where: str) -> None:
        """Take the cells of a row, which may be fewer than the columns; raises BadInputError for a second such row."""
        if name in self.rows:
            raise BadInputError(
                f"{where}: has two rows of {name}: it holds more than one machine; give the output of one"
            )
        self.rows.append(name)
        if len(cells) < len(self.columns):
            self.warnings.append(f"row {name} has {len(cells)} of {len(self.columns)} cells: it is truncated")
        for column, cell in zip(self.columns, cells, strict=False):
            self.cells[name, column] = cell

    def add_unread(self, row: str, column: str, cell: str) -> None:
        """Name a cell that is none of the tool's, so that what joins the two stays unknown."""
        self.unread.add(frozenset((row, column)))
        self.warnings.append(f"row {row} holds {shown(cell)} for {column}, which is no link that is known")

    def topology(self) -> NodeTopology:
        """The machine that the table describes, with what is missing named."""
        gpus = [name for name in self.columns if is_gpu(name)]
        nics = [name for name in self.columns if not is_gpu(name)]
        pairs, contradictions, unknown = [], [], []
        for first, second in _each_pair(self.columns):
            found = [cell for key in ((first, second), (second, first)) if (cell := self.cells.get(key)) is not None]
            if not found:
                unknown.append((first, second))
                continue
            if len(set(found)) > 1:
                contradictions.append((first, second))
            kind, num_links = max(found, key=_distance)
            pairs.append(Pair(pair=(first, second), kind=kind, num_links=num_links))
        warnings = [*self.warnings, *self._missing_rows(), *self._unknown(unknown), *_contradictions(contradictions)]
        return NodeTopology(
            gpus=tuple(gpus),
            nics=tuple(nics),
            nic_devices={name: device for name, device in self.nic_devices.items() if name in nics},
            pairs=tuple(pairs),
            numa_of_gpu=self.numa,
            warnings=tuple(warnings),
        )

    def _missing_rows(self) -> list[str]:
        missing = [name for name in self.columns if name not in self.rows]
        if not missing:
            return []
        what = f"rows of {_some(missing)} are missing"
        if set(missing) == {name for name in self.columns if not is_gpu(name)}:
            return [f"{what}: of adapters, only what their columns say is known"]
        return [f"{what}: the output is truncated"]

    def _unknown(self, pairs: list[tuple[str, str]]) -> list[str]:
        pairs = [pair for pair in pairs if frozenset(pair) not in self.unread]
        between_gpus = [pair for pair in pairs if is_gpu(pair[0]) and is_gpu(pair[1])]
        rest = [pair for pair in pairs if pair not in set(between_gpus)]
        warnings = []
        if between_gpus:
            warnings.append(f"what joins {_named(between_gpus)} is not said: the output is truncated")
        if rest:
            warnings.append(f"what joins {_named(rest)} is not said")
        return warnings


def is_gpu(name: str) -> bool:
    """Whether a column or row is a GPU; the others are network adapters."""
    return name.startswith("GPU")


def checked_columns(columns: list[str], where: str) -> list[str]:
    """`columns` unless a machine cannot have them, which raises BadInputError."""
    if len(columns) > MAX_DEVICES:
        raise BadInputError(f"{where}: has {len(columns)} devices, but one machine has at most {MAX_DEVICES}")
    twice = next((name for name in columns if columns.count(name) > 1), None)
    if twice is not None:
        raise BadInputError(f"{where}: the line that heads the table names {twice[:60]} twice")
    return columns


def _each_pair(names: list[str]) -> Iterator[tuple[str, str]]:
    return ((first, second) for index, first in enumerate(names) for second in names[index + 1 :])


def _distance(cell: tuple[PathKind, int]) -> tuple[int, int]:
    """Greater for what is slower: of two cells that contradict each other, the slower counts."""
    kind, num_links = cell
    return list(PathKind).index(kind), -num_links


def _contradictions(pairs: list[tuple[str, str]]) -> list[str]:
    if not pairs:
        return []
    return [f"the two cells of {_named(pairs)} contradict each other; the slower one counts"]


def _named(pairs: list[tuple[str, str]]) -> str:
    return _some([f"{first} and {second}" for first, second in pairs])


def _some(names: list[str]) -> str:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(names[:MAX_NAMED]) + more
