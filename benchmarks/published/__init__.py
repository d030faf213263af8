"""Runs that others measured and published, with the page each comes from; README.md says what they are."""

from __future__ import annotations

from pathlib import Path

RUNS = Path(__file__).parent / "runs.csv"
