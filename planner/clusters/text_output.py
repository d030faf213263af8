"""Outputs of command-line tools as people paste them: colours, carriage returns and prefixes of launchers taken off."""

from __future__ import annotations

import re

MAX_LINE_CHARS = 8192
"""Of one line, which is cut there: 1,000 columns take less, and patterns take their time on longer ones."""
MAX_OUTPUT_BYTES = 2 * 2**20
"""Of one output; a log of a whole job is not one."""

_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufeff]")
_LAUNCHER = re.compile(
    r"""\s*(?:
        \[\d+,\d+\]<std(?:out|err)>:        # mpirun --tag-output
      | \d+:(?=\s)                          # srun --label
      | \d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?(?=\s)  # a time stamp
      | \[[\w.:-]+\](?=\s|$)                # [host] of pdsh and its kind
      | [\w.-]+:(?=\s)                      # host: of clush and its kind
    )""",
    re.VERBOSE,
)


def lines_of(text: str) -> list[str]:
    """The lines of an output without escape sequences and control characters; tabs stay."""
    plain = _CONTROLS.sub("", _ESCAPES.sub("", text.replace("\u00a0", " ")))
    return [line[:MAX_LINE_CHARS].rstrip() for line in plain.replace("\r\n", "\n").replace("\r", "\n").split("\n")]


def without_launcher(line: str) -> str:
    """`line` without what srun, mpirun and others put in front of every line."""
    while match := _LAUNCHER.match(line):
        line = line[match.end() :]
    return line
