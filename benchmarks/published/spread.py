"""From residuals to half-widths: how wide an interval must be to hold a stated share of measured runs.

A predicted interval is p (1 - w) to p (1 + w), so the residual that counts is |measured / p - 1|. Sources publish from
2 to 1,000 runs of like kind; each source with at least MIN_ROWS rows therefore weighs the same as any other.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from costmodel.uncertainty import COVERED_FRAC

MIN_ROWS = 5


@dataclass(frozen=True)
class Residual:
    """One quantity of one run, in seconds or bytes."""

    id: str
    source: str
    measured: float
    predicted: float
    low: float
    high: float

    @property
    def error_frac(self) -> float:
        """Prediction over measurement, minus one: below 0 where the prediction is too low."""
        return self.predicted / self.measured - 1

    @property
    def distance_frac(self) -> float:
        """Half-width of the narrowest interval around the prediction that holds the measurement."""
        return abs(self.measured / self.predicted - 1)

    @property
    def inside(self) -> bool:
        """Whether the measurement lies between the predicted bounds."""
        return self.low <= self.measured <= self.high


@dataclass(frozen=True)
class SourceErrors:
    """Errors of one source, as shares."""

    num_rows: int
    median_abs_error_frac: float
    p90_abs_error_frac: float
    bias_frac: float
    """Median of the signed errors."""
    inside_frac: float


@dataclass(frozen=True)
class LeftOneOut:
    """A source judged by the half-width that all other sources give."""

    half_width_frac: float
    covered_frac: float


def by_source(residuals: Sequence[Residual]) -> dict[str, list[Residual]]:
    """Residuals of each source, sources in the order they appear."""
    groups: dict[str, list[Residual]] = {}
    for residual in residuals:
        groups.setdefault(residual.source, []).append(residual)
    return groups


def errors(residuals: Sequence[Residual]) -> SourceErrors:
    """Median, 90th percentile and bias of a source's errors, and the share of its rows inside their interval."""
    signed = [residual.error_frac for residual in residuals]
    absolute = [abs(error) for error in signed]
    return SourceErrors(
        num_rows=len(residuals),
        median_abs_error_frac=statistics.median(absolute),
        p90_abs_error_frac=weighted_quantile([(error, 1.0) for error in absolute], 0.9),
        bias_frac=statistics.median(signed),
        inside_frac=statistics.fmean(residual.inside for residual in residuals),
    )


def half_width(groups: Mapping[str, Sequence[Residual]]) -> float:
    """Half-width that holds COVERED_FRAC of the rows, every source with MIN_ROWS rows or more weighing the same.

    Raises ValueError where no source has as many.
    """
    weighted = [
        (residual.distance_frac, 1 / len(rows))
        for rows in groups.values()
        if len(rows) >= MIN_ROWS
        for residual in rows
    ]
    return weighted_quantile(weighted, COVERED_FRAC)


def leave_one_out(groups: Mapping[str, Sequence[Residual]]) -> dict[str, LeftOneOut]:
    """Each source's rows against the half-width of the others; sources below MIN_ROWS take no part."""
    large = {source: rows for source, rows in groups.items() if len(rows) >= MIN_ROWS}
    result = {}
    for source, rows in large.items():
        width = half_width({other: others for other, others in large.items() if other != source})
        result[source] = LeftOneOut(width, statistics.fmean(residual.distance_frac <= width for residual in rows))
    return result


def weighted_quantile(weighted: Sequence[tuple[float, float]], share: float) -> float:
    """The smallest value at or below which `share` of the weight lies; raises ValueError where there are no values."""
    if not weighted:
        raise ValueError("a quantile needs at least one value")
    needed, reached = share * math.fsum(weight for _, weight in weighted), 0.0
    ordered = sorted(weighted)
    for value, weight in ordered:
        reached += weight
        if reached >= needed * (1 - 1e-12):  # sums of 1 / n are not exact
            return value
    return ordered[-1][0]
