"""Unsaid: why a run has no prediction."""

from __future__ import annotations

from dataclasses import dataclass

FAULTY = "a cell is missing, contradicts another, or cannot be"


@dataclass(frozen=True)
class Unsaid:
    """A run without a prediction."""

    reason: str
    """The same words for every run of its kind, to count them by."""
    note: str
    """Of this run: which cell, its value, and what it would have to be."""


def faulty(note: str) -> Unsaid:
    """A run whose own description is at fault, at the cell that `note` names."""
    return Unsaid(FAULTY, note)
