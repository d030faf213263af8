"""Cuts an output into the runs of nccl-tests that it holds: a script often makes several, one after the other.

A run prints how it was called, its ranks, a header, its rows and a summary. So whatever announces a run after the
header of another begins a new one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

HEADER = re.compile(r"\bsize\s+count\s+type\b.*\btime\s+algbw\s+busbw\b")
RANK = re.compile(
    r"#\s*Rank\s+(?P<rank>\d+)\s+(?:Group\s+(?P<group>\d+)\s+)?Pid\s+(?P<pid>\d+)\s+on\s+(?P<host>\S+)\s+"
    r"device\s+(?P<slot>\d+\s+\[[^\]]*\])\s+(?P<device>.+)$"
)
"""A line of the list of ranks; GPUs of a machine stand in different slots."""
PROGRAM = re.compile(r"\b(all_reduce|all_gather|reduce_scatter|alltoall|sendrecv|broadcast|scatter|gather|reduce)_perf")
_CALL = re.compile(r"#\s*(?:nThread\s+\d|Using devices\b)")
_ENDS = re.compile(r"\b(?:concluded|finished|completed|exited|fail(?:ed|ure)|error|killed|abort\w*)\b", re.IGNORECASE)
"""Words of lines that name a program when it is over."""


def runs_of(lines: Sequence[str]) -> list[list[str]]:
    """The lines of every run that prints a header; a text without a header, or with one, is one run."""
    runs: list[list[str]] = [[]]
    has_header = False
    for line in lines:
        is_header = HEADER.search(line) is not None
        if has_header and (is_header or _announces(line)):
            runs.append([])
            has_header = False
        runs[-1].append(line)
        has_header = has_header or is_header
    if len(runs) > 1 and not has_header:
        # What follows the last run, e.g. the call of one that printed nothing.
        rest = runs.pop()
        runs[-1] += [line for line in rest if not _announces(line)]
    return runs


def _announces(line: str) -> bool:
    if RANK.search(line) or _CALL.search(line):
        return True
    return PROGRAM.search(line) is not None and _ENDS.search(line) is None
