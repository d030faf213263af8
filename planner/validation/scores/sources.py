"""Who published a run, by the beginning of its id; and which sources count."""

from __future__ import annotations

MIN_ROWS = 5
"""Rows of a source that counts in a mean over sources."""

NOT_SCORED = ("ci-golden", "golden")
"""Functional tests in deterministic mode: they say nothing about speed."""

_TWO_WORDS = ("alpa", "bs", "ci", "ds", "gcp", "vtrain")
"""First words that several sources share."""


def source_of(run_id: str) -> str:
    """The first word of the id, or the first two where one does not tell sources apart."""
    words = run_id.split("-")
    return "-".join(words[:2]) if words[0] in _TWO_WORDS and len(words) > 2 else words[0]
