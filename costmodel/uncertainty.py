"""How far a prediction can be off: relative half-widths by the source of each share of the time, and for memory.

source      half-width   what it rests on
measured    0.24         local runs of 14 layouts, each soon after a profile: holds 80 % of them (benchmarks/results/
                         local_accuracy.json), the drift of a shared machine between profile and run included
fitted      0.24         the same: most local layouts rest on both
analytic    0.24         published dense bf16 runs on GPUs (docs/accuracy.md): held 80 % of those of four sources
assumed     0.50         a convention, shown with the sensitivity: a link that nobody measured may be off by a factor of
                         two; never narrower than what rests on published figures
memory      0.12         published peaks of allocated memory: held 80 % of those of two sources

A profile says itself how steady its machine was. Where repeated times varied by more than the half-widths of measured
and fitted shares allow, these take half of the distance between their 10th and 90th percentile: the median over a run's
steps moves less than single rounds do, but a machine whose speed wanders may have wandered by that much.

The half-widths from published runs give each source of runs the same weight; docs/accuracy.md says how they were
found, and what they cover of a source that took no part.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from costmodel.spec import Profile, Source

COVERED_FRAC = 0.80
"""Share of the runs they were taken from that the half-widths hold."""

LOCAL_TIME_FRAC = 0.24

ANALYTIC_TIME_FRAC = 0.24
MEMORY_FRAC = 0.12
FACTOR_OF_TWO_FRAC = 0.50

TIME_FRAC: Mapping[Source, float] = {
    Source.MEASURED: LOCAL_TIME_FRAC,
    Source.FITTED: LOCAL_TIME_FRAC,
    Source.ANALYTIC: ANALYTIC_TIME_FRAC,
    Source.ASSUMED: max(FACTOR_OF_TWO_FRAC, ANALYTIC_TIME_FRAC),
}

WIDEST_FRAC = 0.90
"""However unsteady a machine was, a step takes some time."""


def time_fracs(profile: Profile | None) -> Mapping[Source, float]:
    """Relative half-width of a share of the time, by its source, with `profile` as the origin of what was measured."""
    varied_frac = 0.0 if profile is None else min(profile.variation_frac / 2, WIDEST_FRAC)
    timed = (Source.MEASURED, Source.FITTED)
    return {**TIME_FRAC, **{source: max(TIME_FRAC[source], varied_frac) for source in timed}}


def time_frac(shares: Iterable[tuple[float, Source]], profile: Profile | None = None) -> float:
    """Relative half-width of a sum of (time_s, source) shares, whose errors are taken to go the same way."""
    shares, fracs = list(shares), time_fracs(profile)
    total_s = sum(time_s for time_s, _ in shares)
    return sum(time_s * fracs[source] for time_s, source in shares) / total_s


_WORDS = {
    Source.MEASURED: "where measured",
    Source.FITTED: "where scaled from measurements",
    Source.ANALYTIC: "where computed from published figures",
    Source.ASSUMED: "where assumed",
}


def note(sources: Collection[Source], profile: Profile | None) -> str:
    """What the bounds rest on, in a sentence; `sources` are those of the shares of the time that there are."""
    fracs = time_fracs(profile)
    widths = []
    for source in (source for source in _WORDS if source in sources):
        varied = fracs[source] > TIME_FRAC[source]
        reason = " (as far as the profile's own repeated times lie apart)" if varied else ""
        widths.append(f"{fracs[source]:.0%} {_WORDS[source]}{reason}")
    apart = ", other than the assumed one," if Source.ASSUMED in sources else ""
    return (
        f"Each share of the time may be off by {', '.join(widths)}, and memory by {MEMORY_FRAC:.0%}; the widths{apart} "
        f"hold {COVERED_FRAC:.0%} of the runs they were taken from."
    )


def memory_bounds_bytes(peak_bytes: int) -> tuple[int, int]:
    """Lower and upper bound of a predicted peak."""
    return int(peak_bytes * (1 - MEMORY_FRAC)), -int(-peak_bytes * (1 + MEMORY_FRAC) // 1)
