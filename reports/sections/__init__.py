"""The sections of an answer, in reading order. To add one, write a file with `build` and list it here."""

from __future__ import annotations

from collections.abc import Callable

from reports.section import Answer, Section
from reports.sections import measured, memory, pipeline, provenance, ranking, sensitivity, step_time, summary

SECTIONS: tuple[Callable[[Answer], Section | None], ...] = (
    summary.build,
    measured.build,
    memory.build,
    step_time.build,
    pipeline.build,
    ranking.build,
    sensitivity.build,
    provenance.build,
)
"""Each returns its section, or None where the answer has nothing for it."""
