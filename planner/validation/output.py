"""The predictions as CSV, one row for every run, in order."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from planner.validation.answers import Answer
from planner.validation.measured import GIB
from planner.validation.table import Run
from planner.validation.unsaid import Unsaid

COLUMNS = (
    "id",
    "predicted_step_time_s",
    "predicted_step_time_low_s",
    "predicted_step_time_high_s",
    "predicted_peak_mem_gb",
    "predicted_peak_mem_low_gb",
    "predicted_peak_mem_high_gb",
    "verdict",
    "note",
)
DIGITS = 6


def predictions_csv(runs: Sequence[Run], answers: Sequence[Answer | Unsaid]) -> str:
    """The text of the file; memory in GiB, as the run's counter counts it, empty where that has no model."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for run, answer in zip(runs, answers, strict=True):
        writer.writerow((run.id, *_cells(answer)))
    return text.getvalue()


def _cells(answer: Answer | Unsaid) -> tuple[str, ...]:
    if isinstance(answer, Unsaid):
        return ("",) * (len(COLUMNS) - 2) + (answer.note,)
    prediction, peak = answer.prediction, answer.peak
    times = (prediction.step_time_s, prediction.step_time_low_s, prediction.step_time_high_s)
    sizes = () if peak is None else (peak.bytes, peak.low_bytes, peak.high_bytes)
    figures = [f"{time:.{DIGITS}g}" for time in times] + [f"{size / GIB:.{DIGITS}g}" for size in sizes]
    return (*figures, *[""] * (6 - len(figures)), prediction.verdict.value, answer.note)


def is_predictions(text: str) -> bool:
    """Whether `text` is a table that this module writes."""
    return text.startswith(",".join(COLUMNS) + "\n")
