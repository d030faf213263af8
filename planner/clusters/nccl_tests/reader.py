"""Reads the runs in an output of nccl-tests, each into a `CollectiveTable`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath

from costmodel.errors import BadInputError
from costmodel.spec.collective import Collective, CollectivePoint, CollectiveTable
from costmodel.spec.shown import shown
from planner.clusters.nccl_tests import inference
from planner.clusters.nccl_tests.rows import Row, read_rows
from planner.clusters.nccl_tests.runs import HEADER, RANK, runs_of
from planner.clusters.text_output import lines_of

MAX_ROWS = 10_000
MAX_RANKS = 10**6
MAX_TIME_US = 1e12
MAX_GB_PER_S = 1e6

_OUT_OF_BOUNDS = re.compile(r"#\s*Out of bounds values\s*:\s*(\d{1,12})\s*(\w*)")


def looks_like(text: str) -> bool:
    """Whether some line of `text` is a header or a row of results."""
    lines = lines_of(text)
    return any(HEADER.search(line) for line in lines) or any(isinstance(row, Row) for row in read_rows(lines))


def read_runs(text: str, where: str, file_name: str = "") -> tuple[CollectiveTable, ...]:
    """The results of every run in `text`; `file_name` names the collective where nothing else does.

    Rows that cannot be read, wrong results and what had to be inferred are named in `warnings`. Raises BadInputError
    where there is no result, where rows of one run are of several collectives, or where the columns contradict the
    collective that is named.
    """
    runs = runs_of(lines_of(text))
    name = PurePath(file_name).name
    if len(runs) == 1:
        return (_table(runs[0], where, name),)
    whole = [index for index, lines in enumerate(runs, 1) if any(isinstance(row, Row) for row in read_rows(lines))]
    if not whole:
        return (_table([line for lines in runs for line in lines], where, name),)
    tables = [_table(runs[index - 1], f"{where}: run {index}", name) for index in whole]
    empty = [str(index) for index in range(1, len(runs) + 1) if index not in whole]
    if empty:
        said = f"of its {len(runs)} runs, {', '.join(empty)} printed no results"
        tables[0] = tables[0].model_copy(update={"warnings": (said, *tables[0].warnings)})
    return tuple(tables)


def _table(lines: list[str], where: str, file_name: str) -> CollectiveTable:
    warnings: list[str] = []
    rows = _rows(lines, where, warnings)
    ranks = _group_of_first(_ranks(lines, where), warnings)
    collective = _collective(lines, rows, len(ranks), where, file_name, warnings)
    return CollectiveTable(
        collective=collective,
        num_ranks=_num_ranks(len(ranks), rows, collective, where, warnings),
        devices=tuple(dict.fromkeys(rank["device"].strip() for rank in ranks)),
        num_nodes=_num_nodes(ranks) or None,
        samples=tuple(_point(row) for row in rows),
        warnings=(*warnings, *_doubts(lines, rows)),
    )


def _ranks(lines: list[str], where: str) -> dict[int, re.Match[str]]:
    """The lines that list the ranks, each once."""
    ranks: dict[int, re.Match[str]] = {}
    for line in lines:
        found = RANK.search(line)
        if found is None:
            continue
        number = int(found["rank"][:9])
        other = ranks.setdefault(number, found)
        if other.group("pid", "host") != found.group("pid", "host"):
            raise BadInputError(
                f"{where}: lists rank {number} twice (process {other['pid']} on {shown(other['host'])}, {found['pid']} "
                f"on {shown(found['host'])}), so it is of runs that printed at the same time; give the output of one"
            )
    return ranks


def _group_of_first(ranks: dict[int, re.Match[str]], warnings: list[str]) -> list[re.Match[str]]:
    """The ranks that exchange with the first one: of several communicators side by side (NCCL_TESTS_SPLIT) only one."""
    sizes = Counter(rank["group"] for rank in ranks.values())
    if len(sizes) < 2:
        return list(ranks.values())
    first = ranks[min(ranks)]["group"]
    warnings.append(f"{len(sizes)} groups ran side by side (NCCL_TESTS_SPLIT); one counts, of {sizes[first]} ranks")
    if len(set(sizes.values())) > 1:
        warnings.append(f"its groups differ: {', '.join(map(str, sorted(set(sizes.values()))))} ranks")
    return [rank for rank in ranks.values() if rank["group"] == first]


def _num_nodes(ranks: Sequence[re.Match[str]]) -> int:
    """Machines of the ranks that are listed: hosts; one that lists a slot twice stands for two machines of its name."""
    devices = Counter((rank["host"], rank["slot"]) for rank in ranks)
    most: Counter[str] = Counter()
    for (host, _), count in devices.items():
        most[host] = max(most[host], count)
    return most.total()


def _rows(lines: list[str], where: str, warnings: list[str]) -> list[Row]:
    found = list(read_rows(lines))
    rows = [row for row in found if isinstance(row, Row)]
    unread = [row for row in found if isinstance(row, str)]
    if len(rows) > MAX_ROWS:
        raise BadInputError(f"{where}: has {len(rows)} rows of results, but at most {MAX_ROWS} are read")
    if not rows:
        failure = next((line for line in lines if _tells_failure(line)), None)
        said = f"; it says {shown(failure.strip())}" if failure else ""
        raise BadInputError(f"{where}: holds no results of nccl-tests{said}; give the whole output of a run")
    if unread:
        warnings.append(
            f"rows that are cut off or cannot be read are left out ({len(unread)}), e.g. {shown(unread[0])}"
        )
    absurd = next((row for row in rows if not _is_sane(row)), None)
    if absurd is not None:
        raise BadInputError(
            f"{where}: the row of {absurd.size_bytes} bytes holds a time or bandwidth that no device has; see whether "
            "its columns are those of nccl-tests"
        )
    if not inference.are_of_one(rows):
        raise BadInputError(
            f"{where}: its rows are of several collectives or numbers of ranks, by their columns; give each run "
            "with its header"
        )
    return rows


def _is_sane(row: Row) -> bool:
    return all(
        group.time_us <= MAX_TIME_US and max(group.algbw_gb_per_s, group.busbw_gb_per_s) <= MAX_GB_PER_S
        for group in row.groups
    )


def _collective(
    lines: list[str], rows: Sequence[Row], num_listed: int, where: str, file_name: str, warnings: list[str]
) -> Collective:
    named, by_file, possible = inference.named_in(lines), inference.named_by_file(file_name), inference.possible(rows)
    if named is not None:
        # One rank spreads nothing, so that the columns of all collectives are alike.
        if named not in possible and not _is_tiny(rows) and num_listed != 1:
            raise BadInputError(
                f"{where}: the output names {named.value}, but its columns are those of {_either(possible)}; give the "
                "output of one run"
            )
        return named
    if num_listed > 2 and Collective.SEND_RECV in possible:
        # busbw is algbw, as that of an all-reduce is over two ranks only.
        possible = {Collective.SEND_RECV}
    if by_file in possible:
        if len(possible) > 1:
            warnings.append(f"the columns fit {_either(possible)}; the file's name says {by_file.value}")
        return by_file
    if len(possible) == 1:
        (only,) = possible
        if by_file is not None:
            warnings.append(f"the file's name says {by_file.value}, but the columns are those of {only.value}")
        return only
    if Collective.ALL_TO_ALL in possible:
        # An all-to-all in place has nothing to check itself against.
        unchecked = inference.is_checked_out_of_place_only(rows)
        found = Collective.ALL_TO_ALL if unchecked else Collective.ALL_GATHER
        warnings.append(f"nothing names the collective; its columns fit {_either(possible)}; read as {found.value}")
        return found
    raise BadInputError(
        f"{where}: nothing says whether it is {_either(possible)}; name the file after it, e.g. {min(possible)}.txt"
    )


def _is_tiny(rows: Sequence[Row]) -> bool:
    """Whether no row has an element, so that the columns say nothing."""
    return all(row.count == 0 for row in rows)


def _either(ops: set[Collective]) -> str:
    return " or ".join(sorted(op.value for op in ops))


def _num_ranks(num_listed: int, rows: Sequence[Row], op: Collective, where: str, warnings: list[str]) -> int | None:
    bounds = inference.num_ranks(rows, op)
    if num_listed:
        if bounds is not None and not bounds[0] <= num_listed <= bounds[1]:
            warnings.append(f"it lists {num_listed} ranks, but its figures are those of {_span(bounds)}")
        return num_listed
    if bounds is None:
        warnings.append("it does not list its ranks, and its figures do not say how many there are")
        return None
    if bounds[0] > MAX_RANKS:
        raise BadInputError(f"{where}: its figures are those of {_span(bounds)} ranks, but there is no such cluster")
    if bounds[0] < bounds[1]:
        warnings.append(f"it does not list its ranks; by its figures there are {_span(bounds)}")
        return None
    warnings.append(f"it does not list its ranks; by its figures there are {bounds[0]}")
    return bounds[0]


def _span(bounds: tuple[int, int]) -> str:
    return str(bounds[0]) if bounds[0] == bounds[1] else f"{bounds[0]} to {bounds[1]}"


def _point(row: Row) -> CollectivePoint:
    first = row.groups[0]
    checks = [group.num_wrong for group in row.groups if group.num_wrong is not None]
    return CollectivePoint(
        bytes=row.size_bytes,
        time_s=first.time_us / 1e6,
        busbw_bytes_per_s=first.busbw_gb_per_s * 1e9,
        in_place_time_s=row.groups[1].time_us / 1e6 if len(row.groups) > 1 else None,
        num_wrong=max(checks, default=None),
    )


def _doubts(lines: list[str], rows: Sequence[Row]) -> list[str]:
    warnings = []
    points = [_point(row) for row in rows]
    wrong = [point.bytes for point in points if point.num_wrong]
    if wrong:
        warnings.append(f"results were wrong at {_sizes(wrong)}; these times enter no fit")
    idle = [point.bytes for point in points if not point.num_wrong and not point.enters_fit]
    if idle:
        warnings.append(f"rows with a size or a bandwidth of 0 enter no fit ({len(idle)}): {_sizes(idle)}")
    for line in lines:
        found = _OUT_OF_BOUNDS.search(line)
        if found is not None and int(found[1]) > 0:
            warnings.append(f"nccl-tests itself counts {found[1]} values out of bounds")
        if _tells_failure(line):
            warnings.append(f"the run failed: {shown(line.strip())}")
            break
    return warnings


def _tells_failure(line: str) -> bool:
    return "Test" in line and "failure" in line


def _sizes(sizes: list[int]) -> str:
    some = ", ".join(str(size) for size in dict.fromkeys(sizes[:6]))
    return f"{some} and more bytes" if len(sizes) > 6 else f"{some} bytes"
