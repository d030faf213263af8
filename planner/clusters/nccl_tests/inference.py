"""Which collective an output of nccl-tests is of, and over how many ranks, where no line says so.

The columns tell most: a reduction is named for all-reduce, reduce-scatter and reduce; a root stands for broadcast,
reduce, gather and scatter; `count` is per rank where the tensor is spread over the ranks; busbw / algbw is a formula
of the number of ranks (nccl-tests doc/PERFORMANCE.md). sendrecv names a reduction as well, of which it makes no use,
but its busbw is algbw, as that of an all-reduce is over two ranks only, and its results in place are never checked
(sendrecv.cu).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from costmodel.spec.collective import Collective
from planner.clusters.nccl_tests.rows import BYTES_OF_TYPE, Row
from planner.clusters.nccl_tests.runs import PROGRAM

NAMES = {
    "all_reduce": Collective.ALL_REDUCE,
    "allreduce": Collective.ALL_REDUCE,
    "all_gather": Collective.ALL_GATHER,
    "allgather": Collective.ALL_GATHER,
    "reduce_scatter": Collective.REDUCE_SCATTER,
    "reducescatter": Collective.REDUCE_SCATTER,
    "alltoall": Collective.ALL_TO_ALL,
    "all_to_all": Collective.ALL_TO_ALL,
    "all2all": Collective.ALL_TO_ALL,
    "sendrecv": Collective.SEND_RECV,
    "send_recv": Collective.SEND_RECV,
    "broadcast": Collective.BROADCAST,
    "scatter": Collective.SCATTER,
    "gather": Collective.GATHER,
    "reduce": Collective.REDUCE,
}
"""Words for a collective; one that holds another stands before it."""

_ROUNDING = 0.005
"""Half of the last digit that algbw and busbw are printed with, in GB/s."""
_MIN_GB_PER_S = 5.0
"""Bandwidths below say too little of their ratio."""


def named_in(lines: Sequence[str]) -> Collective | None:
    """The collective that the output names by its program; None where it names none, or several."""
    found = {NAMES[name] for line in lines for name in PROGRAM.findall(line)}
    return found.pop() if len(found) == 1 else None


def named_by_file(file_name: str) -> Collective | None:
    """The collective in the name of a file, e.g. `h100_allreduce.txt`."""
    text = file_name.lower().replace("-", "_")
    return next((op for word, op in NAMES.items() if word in text), None)


def possible(rows: Sequence[Row]) -> set[Collective]:
    """The collectives whose columns look like those of `rows`."""
    reduces, has_root = any(map(_reduces, rows)), any(map(_has_root, rows))
    spread = _ranks_by_count(rows)
    if spread is None:
        if has_root:
            return {Collective.REDUCE} if reduces else {Collective.BROADCAST}
        return _without_root(rows) if reduces else {Collective.SEND_RECV}
    if has_root:
        return {Collective.GATHER, Collective.SCATTER}
    return {Collective.REDUCE_SCATTER} if reduces else {Collective.ALL_GATHER, Collective.ALL_TO_ALL}


def _without_root(rows: Sequence[Row]) -> set[Collective]:
    """What rows may be that name a reduction and no root, of a tensor that is whole on every rank."""
    groups = [group for row in rows for group in row.groups if group.algbw_gb_per_s > 0]
    if not groups or any(group.busbw_gb_per_s != group.algbw_gb_per_s for group in groups):
        return {Collective.ALL_REDUCE}
    if is_checked_in_place(rows):
        return {Collective.ALL_REDUCE}
    if is_checked_out_of_place_only(rows):
        return {Collective.SEND_RECV}
    return {Collective.ALL_REDUCE, Collective.SEND_RECV}


def is_checked_in_place(rows: Sequence[Row]) -> bool:
    """Whether the results in place were checked."""
    return any(row.groups[1].num_wrong is not None for row in rows if len(row.groups) > 1)


def is_checked_out_of_place_only(rows: Sequence[Row]) -> bool:
    """Whether the results in place were not checked, but the others: of all-to-all and sendrecv alone."""
    has_both = all(len(row.groups) > 1 and row.groups[0].num_wrong is not None for row in rows)
    return has_both and not is_checked_in_place(rows)


def are_of_one(rows: Sequence[Row]) -> bool:
    """Whether the columns of all `rows` are those of one collective over one number of ranks."""
    ratios = {_ratio(row) for row in rows if row.count > 0}
    return len({(_reduces(row), _has_root(row)) for row in rows}) == 1 and len(ratios) <= 1


def num_ranks(rows: Sequence[Row], op: Collective) -> tuple[int, int] | None:
    """The fewest and the most ranks that the figures of `rows` allow; None where they say nothing."""
    spread = _ranks_by_count(rows)
    if spread is not None:
        return spread, spread
    if op is not Collective.ALL_REDUCE:
        return None
    # 2 (n - 1) / n = busbw / algbw, each rounded: from every row an interval of 1 / n, and what is common to them.
    low, high = 0.0, 0.5
    for row in rows:
        for group in row.groups:
            if group.algbw_gb_per_s < _MIN_GB_PER_S:
                continue
            least = (group.busbw_gb_per_s - _ROUNDING) / (group.algbw_gb_per_s + _ROUNDING)
            most = (group.busbw_gb_per_s + _ROUNDING) / (group.algbw_gb_per_s - _ROUNDING)
            low, high = max(low, 1 - most / 2), min(high, 1 - least / 2)
    if not 0 < low <= high:
        return None
    fewest, most_ranks = math.ceil(1 / high), math.floor(1 / low)
    return (fewest, most_ranks) if fewest <= most_ranks else None


def _ranks_by_count(rows: Sequence[Row]) -> int | None:
    """size / (count x bytes of an element): the ranks over which the tensor is spread; None where it is whole."""
    ratios = {_ratio(row) for row in rows if row.count > 0}
    if len(ratios) != 1:
        return None
    ratio = ratios.pop()
    return int(ratio) if ratio.is_integer() and ratio > 1 else None


def _reduces(row: Row) -> bool:
    return row.redop not in (None, "none")


def _has_root(row: Row) -> bool:
    return row.root is not None and row.root >= 0


def _ratio(row: Row) -> float:
    return row.size_bytes / (row.count * BYTES_OF_TYPE[row.data_type])
