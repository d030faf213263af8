"""How far a prediction can be off: relative half-widths by the source of each share of the time, and for memory.

source      half-width   what it rests on
measured    0.17         the largest error of 12 local layouts without tensor parallelism (benchmarks/results/
                         local_accuracy.json; the median error is 4 %)
fitted      0.20         a convention, between measured and published: what is scaled from timings at hand
analytic    0.24         published runs on GPUs: holds 80 % of them (benchmarks/results/published_residuals.json)
assumed     0.50         a convention, shown with the sensitivity: a link that nobody measured may be off by a factor of
                         two; never narrower than what rests on published figures
memory      0.12         published peaks of allocated memory: holds 80 % of them (same file)

The half-widths from published runs give each source of runs the same weight; docs/accuracy.md says how they were
found, and what they cover of a source that took no part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from costmodel.spec import Source

COVERED_FRAC = 0.80
"""Share of published runs that the half-widths ANALYTIC_TIME_FRAC and MEMORY_FRAC hold."""

ANALYTIC_TIME_FRAC = 0.24
MEMORY_FRAC = 0.12
FACTOR_OF_TWO_FRAC = 0.50

TIME_FRAC: Mapping[Source, float] = {
    Source.MEASURED: 0.17,
    Source.FITTED: 0.20,
    Source.ANALYTIC: ANALYTIC_TIME_FRAC,
    Source.ASSUMED: max(FACTOR_OF_TWO_FRAC, ANALYTIC_TIME_FRAC),
}

NOTE = (
    f"Each share of the time may be off by {TIME_FRAC[Source.MEASURED]:.0%} where measured, "
    f"{TIME_FRAC[Source.FITTED]:.0%} where scaled from measurements, {TIME_FRAC[Source.ANALYTIC]:.0%} where computed "
    f"from published figures, {TIME_FRAC[Source.ASSUMED]:.0%} where assumed, and memory by {MEMORY_FRAC:.0%}; the "
    f"widths for published figures and for memory hold {COVERED_FRAC:.0%} of the published runs they were taken from."
)
"""What the bounds rest on, in a sentence."""


def time_frac(shares: Iterable[tuple[float, Source]]) -> float:
    """Relative half-width of a sum of (time_s, source) shares, whose errors are taken to go the same way."""
    shares = list(shares)
    total_s = sum(time_s for time_s, _ in shares)
    return sum(time_s * TIME_FRAC[source] for time_s, source in shares) / total_s


def memory_bounds_bytes(peak_bytes: int) -> tuple[int, int]:
    """Lower and upper bound of a predicted peak."""
    return int(peak_bytes * (1 - MEMORY_FRAC)), -int(-peak_bytes * (1 + MEMORY_FRAC) // 1)
