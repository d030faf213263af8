"""One measured run beside its prediction, and errors of many of them."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from planner.validation.configuration import Configuration
from planner.validation.scores.sources import MIN_ROWS
from planner.validation.unsaid import Unsaid

UNANSWERED_ERROR_FRAC = 1.0


@dataclass(frozen=True)
class Predicted:
    """A predicted figure with its bounds, in the unit of the measurement."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Scored:
    """One quantity of one run; a run that is not answered has no prediction."""

    index: int
    """Which row of the table it is; names may repeat."""
    id: str
    source: str
    configuration: Configuration | Unsaid
    """At fault where it is unsaid; such a run is not answered."""
    measured: float
    predicted: Predicted | None

    @property
    def error_frac(self) -> float | None:
        """Prediction over measurement, minus one: below 0 where the prediction is too low."""
        return None if self.predicted is None else self.predicted.value / self.measured - 1

    @property
    def abs_error_frac(self) -> float:
        """Size of the error; 1 for a run that is not answered."""
        return UNANSWERED_ERROR_FRAC if self.error_frac is None else abs(self.error_frac)


@dataclass(frozen=True)
class Errors:
    """Errors of a group of runs, as shares."""

    num_rows: int
    num_answered: int
    median_frac: float
    p90_frac: float
    bias_frac: float | None
    """Median of the signed errors of answered runs."""
    coverage_frac: float | None
    """Share of answered runs whose measurement lies between the bounds."""
    half_width_frac: float | None
    """Median over answered runs of half the interval over the prediction."""


def errors_of(rows: Sequence[Scored]) -> Errors:
    """Errors of `rows`, of which there must be some."""
    answered = [(row.measured, row.predicted) for row in rows if row.predicted is not None]
    absolute = [row.abs_error_frac for row in rows]
    return Errors(
        num_rows=len(rows),
        num_answered=len(answered),
        median_frac=statistics.median(absolute),
        p90_frac=p90(absolute),
        bias_frac=_median(predicted.value / measured - 1 for measured, predicted in answered),
        coverage_frac=_mean(float(predicted.low <= measured <= predicted.high) for measured, predicted in answered),
        half_width_frac=_median((predicted.high - predicted.low) / 2 / predicted.value for _, predicted in answered),
    )


def p90(values: Sequence[float]) -> float:
    """The value below which nine tenths of the others lie: at place floor(0.9 (n - 1)) of the sorted ones."""
    return sorted(values)[9 * (len(values) - 1) // 10]


def by_source(rows: Iterable[Scored]) -> dict[str, list[Scored]]:
    """Rows of each source, sources in the order they appear."""
    found: dict[str, list[Scored]] = {}
    for row in rows:
        found.setdefault(row.source, []).append(row)
    return found


def mean_over_sources(errors: Mapping[str, Errors], left_out: Collection[str] = ()) -> Errors | None:
    """The mean of each figure over the sources with enough rows, but those `left_out`; None where there is none."""
    scored = [figures for source, figures in errors.items() if figures.num_rows >= MIN_ROWS and source not in left_out]
    if not scored:
        return None
    return Errors(
        num_rows=sum(figures.num_rows for figures in scored),
        num_answered=sum(figures.num_answered for figures in scored),
        median_frac=statistics.fmean(figures.median_frac for figures in scored),
        p90_frac=statistics.fmean(figures.p90_frac for figures in scored),
        bias_frac=_mean(figures.bias_frac for figures in scored if figures.bias_frac is not None),
        coverage_frac=_mean(figures.coverage_frac for figures in scored if figures.coverage_frac is not None),
        half_width_frac=_mean(figures.half_width_frac for figures in scored if figures.half_width_frac is not None),
    )


def _mean(values: Iterable[float]) -> float | None:
    listed = list(values)
    return statistics.fmean(listed) if listed else None


def _median(values: Iterable[float]) -> float | None:
    listed = list(values)
    return statistics.median(listed) if listed else None
