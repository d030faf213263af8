"""What becomes of each sample config: what is expected, what happens, and the table of both in docs/models.md.

python -m tests.models.outcomes        write the table anew
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from costmodel.errors import BadInputError
from planner.models.errors import UnknownArchitectureError
from planner.models.read import load_config, read_model

ROOT = Path(__file__).parents[2]
CONFIGS = Path(__file__).parent / "configs"
EXPECTED = Path(__file__).parent / "expected_outcomes.csv"
PAGE = ROOT / "docs" / "models.md"
BEGIN, END = "<!-- outcomes -->\n", "<!-- /outcomes -->\n"


@dataclass(frozen=True)
class Expected:
    """One row of `expected_outcomes.csv`."""

    file: str
    outcome: str
    """`read`, `traced` (no family reads the class, transformers builds it) or `refused`."""
    params_total: int | None
    basis: str
    """Where the count comes from: `transformers` builds the class, or `hand`, with the arithmetic in a test."""
    words: str
    """What the refusal must say, or why the outcome is as it is."""


@dataclass(frozen=True)
class Outcome:
    """What happens to a file."""

    outcome: str
    params_total: int | None
    said: str
    """The refusal, or the assumptions."""


def expected() -> list[Expected]:
    """Every row, in the order of the file."""
    with EXPECTED.open(encoding="utf-8", newline="") as file:
        return [
            Expected(row["file"], row["outcome"], int(row["params_total"] or 0) or None, row["basis"], row["words"])
            for row in csv.DictReader(file)
        ]


def sample_files() -> list[str]:
    """Every config among the samples, by its path below them."""
    return sorted(str(path.relative_to(CONFIGS)) for path in CONFIGS.rglob("*.json"))


def actual(file: str, *, traces: bool = True) -> Outcome:
    """Reads the sample; a class that no family reads is traced, or called `unknown` where nothing is to be traced."""
    try:
        raw = load_config(str(CONFIGS / file))
        spec = read_model(raw.data, file, raw.name)
    except UnknownArchitectureError as error:
        return _traced(raw.data, file) if traces else Outcome("unknown", None, _said(str(error)))
    except BadInputError as error:
        return Outcome("refused", None, _said(str(error)))
    return Outcome("read", spec.params_total, " ".join(spec.assumptions))


def _traced(data: dict[str, Any], file: str) -> Outcome:
    from profiler.tracing import trace_config

    try:
        spec = trace_config(data, file, file)
    except BadInputError as error:
        return Outcome("refused", None, _said(str(error)))
    return Outcome("traced", spec.params_total, " ".join(spec.assumptions))


def _said(message: str) -> str:
    """The message without the place of the file, which differs between machines."""
    return re.sub(r"^(model config )?\S*?(\.json)?: ", "", message)


def table() -> str:
    """The rows of docs/models.md."""
    return "".join(_lines())


def _lines() -> Iterator[str]:
    yield "| file | expected | counted by | actual | what is said |\n|---|---|---|---|---|\n"
    for row in expected():
        # Tracing takes half a minute; that it gives this count is a test of its own.
        found = Outcome("traced", row.params_total, "") if row.outcome == "traced" else actual(row.file)
        wanted = row.outcome if row.params_total is None else f"{row.outcome}, {row.params_total:,}"
        got = found.outcome if found.params_total is None else f"{found.outcome}, {found.params_total:,}"
        said = _cell(found.said if row.outcome == "refused" else row.words)
        yield f"| {row.file} | {wanted} | {row.basis} | {got} | {said} |\n"


def _cell(text: str) -> str:
    text = " ".join(text.replace("|", "/").split())
    return text if len(text) <= 200 else f"{text[:197]}..."


def page_with_table(page: str) -> str:
    """`page` with the table between its marks made anew."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + table() + END + rest.split(END)[1]


if __name__ == "__main__":
    PAGE.write_text(page_with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
