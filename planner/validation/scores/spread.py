"""From residuals to half-widths: how wide an interval must be to hold a stated share of measured runs.

A predicted interval is p (1 - w) to p (1 + w), so the residual that counts is |measured / p - 1|. Each source with
enough rows weighs the same as any other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from planner.validation.scores.scored import Scored
from planner.validation.scores.sources import MIN_ROWS


def distances(groups: Mapping[str, Sequence[Scored]]) -> dict[str, list[float]]:
    """By source with enough answered rows, the half-widths of the narrowest intervals that hold each measurement."""
    found = {
        source: [abs(row.measured / row.predicted.value - 1) for row in rows if row.predicted is not None]
        for source, rows in groups.items()
    }
    return {source: fracs for source, fracs in found.items() if len(fracs) >= MIN_ROWS}


def half_width(found: Mapping[str, Sequence[float]], share: float) -> float | None:
    """Half-width that holds `share` of the rows, every source weighing the same; None where there is no source."""
    weighted = [(frac, 1 / len(fracs)) for fracs in found.values() for frac in fracs]
    return weighted_quantile(weighted, share) if weighted else None


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
