"""How far a prediction can be off: relative half-widths by the source of each share of time or memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from costmodel.spec import Source

TIME_FRAC: Mapping[Source, float] = {
    Source.MEASURED: 0.12,
    Source.FITTED: 0.20,
    Source.ANALYTIC: 0.25,
    Source.ASSUMED: 0.50,
}

MEMORY_FRAC = 0.05

NOTE = "relative half-widths by the source of each term"


def time_frac(shares: Iterable[tuple[float, Source]]) -> float:
    """Relative half-width of a sum of (time_s, source) shares, whose errors are taken to go the same way."""
    shares = list(shares)
    total_s = sum(time_s for time_s, _ in shares)
    return sum(time_s * TIME_FRAC[source] for time_s, source in shares) / total_s


def memory_bounds_bytes(peak_bytes: int) -> tuple[int, int]:
    """Lower and upper bound of a predicted peak."""
    return int(peak_bytes * (1 - MEMORY_FRAC)), -int(-peak_bytes * (1 + MEMORY_FRAC) // 1)
