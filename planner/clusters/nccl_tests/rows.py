"""Rows of results in an output of nccl-tests, whatever stands before them and however many columns they have.

    size count type [redop] [root]  time algbw busbw [#wrong]  [time algbw busbw [#wrong]]

The second group is in place. Old versions print `error` for `#wrong` and leave redop or root blank; N/A, or -1,
stands for a check that did not run. Figures of single iterations (`i_min` and so on) may end a group, a
timestamp a row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

_TYPES = (
    "int8|uint8|char|int32|uint32|int|int64|uint64|half|float16|float32|float64|float|double|bfloat16|"
    "f8e4m3|f8e5m2|fp8_e4m3|fp8_e5m2"
)
_ROW = re.compile(rf"(?:^|\s)(\d{{1,18}})\s+(\d{{1,18}})\s+({_TYPES})\s+(.*)$")
_HEADER = re.compile(r"\bsize\s+count\s+type\b(.*)")
_NUMBER = re.compile(r"\d{1,15}(?:\.\d{0,15})?(?:[eE][+-]?\d{1,2})?")
_ROOT = re.compile(r"-?\d+")

BYTES_OF_TYPE = {
    **dict.fromkeys(("int8", "uint8", "char", "f8e4m3", "f8e5m2", "fp8_e4m3", "fp8_e5m2"), 1),
    **dict.fromkeys(("half", "float16", "bfloat16"), 2),
    **dict.fromkeys(("int32", "uint32", "int", "float", "float32"), 4),
    **dict.fromkeys(("int64", "uint64", "double", "float64"), 8),
}


@dataclass(frozen=True)
class Group:
    """What was measured out of place, or in place."""

    time_us: float
    algbw_gb_per_s: float
    busbw_gb_per_s: float
    num_wrong: int | None
    """None where the check did not run."""


@dataclass(frozen=True)
class Row:
    """One size."""

    size_bytes: int
    count: int
    data_type: str
    redop: str | None
    root: int | None
    groups: tuple[Group, ...]


@dataclass(frozen=True)
class Layout:
    """The columns that a header announces."""

    num_groups: int = 2
    group_width: int = 4
    """Words of one group."""
    has_check: bool = True
    num_last: int = 0
    """Words behind the groups: of a timestamp."""

    @classmethod
    def of(cls, header: list[str]) -> Self:
        """The layout under the words of a header, without size, count and type."""
        columns = [word for word in header if word != "timestamp"]
        starts = [index for index, word in enumerate(columns) if word == "time"] or [0]
        return cls(
            num_groups=len(starts),
            group_width=len(columns) - starts[-1],
            has_check="#wrong" in columns or "error" in columns,
            num_last=2 * (len(header) - len(columns)),
        )


def read_rows(lines: list[str]) -> Iterator[Row | str]:
    """Every row of results in order; a line that begins as one and cannot be read comes as its text."""
    layout = Layout()
    for line in lines:
        header = _HEADER.search(line)
        if header is not None:
            layout = Layout.of(header[1].split())
            continue
        found = _ROW.search(line)
        if found is None or line.lstrip().startswith("#"):
            continue
        row = _row(found, layout)
        yield line.strip() if row is None else row


def _row(found: re.Match[str], layout: Layout) -> Row | None:
    words = found[4].split()
    words = words[: len(words) - layout.num_last]
    redop = None
    if words and re.fullmatch(r"[a-z_]+", words[0]):
        redop = words.pop(0)
    root = None
    # One word more than whole groups is the root.
    if words and len(words) % layout.group_width == 1 and _ROOT.fullmatch(words[0]):
        root = int(words.pop(0)[:9])
    if len(words) not in (layout.group_width, layout.num_groups * layout.group_width):
        return None
    starts = range(0, len(words), layout.group_width)
    groups = [_group(words[start : start + 3 + layout.has_check]) for start in starts]
    whole = tuple(group for group in groups if group is not None)
    if len(whole) != len(groups):
        return None
    return Row(int(found[1]), int(found[2]), found[3], redop, root, whole)


def _group(words: list[str]) -> Group | None:
    if not all(_NUMBER.fullmatch(word) for word in words[:3]):
        return None
    wrong: int | None = None
    if len(words) == 4 and words[3] not in ("N/A", "-1"):
        if not _NUMBER.fullmatch(words[3]):
            return None
        # The old column `error` holds the largest deviation, of which rounding makes a little.
        error = float(words[3])
        wrong = int(error) if error >= 1 else int(error > MAX_ERROR)
    time_us, algbw, busbw = (float(word) for word in words[:3])
    return Group(time_us, algbw, busbw, wrong)


MAX_ERROR = 1e-3
"""Deviation that summing in another order may leave; old versions let half precision go as far."""
