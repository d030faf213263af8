"""Whether layouts of one job are put in the right order, and what it costs to take the one predicted fastest."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from planner.validation.precisions import Narrow, precision_named
from planner.validation.scores.scored import Scored
from planner.validation.scores.sources import NOT_SCORED
from planner.validation.unsaid import Unsaid

APART_FRAC = 0.05
"""Times of two layouts that differ by less say nothing: equal layouts measured twice differ by 1 to 6 %."""
MIN_PAIRS = 10
MIN_LAYOUTS = 3
MIN_JOBS = 3
"""Sources with fewer pairs, or with fewer jobs of MIN_LAYOUTS layouts, are pooled."""

POOLED = "others"

LAYOUT = ("tp", "sp", "pp", "vpp", "dp", "cp", "ep", "zero", "zero_group", "schedule", "micro_batch", "recompute")
"""What of a run its user chooses."""


@dataclass(frozen=True)
class Layout:
    """One layout of a job: the medians over the runs that repeat it; unanswered where no run is answered."""

    measured: float
    predicted: float | None


@dataclass(frozen=True)
class Rank:
    """Of one source, or of those that are pooled."""

    count: int
    """Pairs, or jobs."""
    mean: float


def jobs(rows: Iterable[Scored]) -> dict[str, list[list[Layout]]]:
    """By source, the layouts of each job: runs of one model on one machine with one batch in formats of one width."""
    groups: dict[tuple[object, ...], dict[tuple[object, ...], list[Scored]]] = {}
    for row in rows:
        run = row.configuration
        if isinstance(run, Unsaid):
            continue
        is_narrow = isinstance(precision_named(run.precision), Narrow)
        job = (row.source, run.framework, run.release, run.model, run.layers, run.gpu, run.n_gpus, run.global_batch)
        layout = tuple(getattr(run, name) for name in LAYOUT)
        groups.setdefault((*job, run.seq_len, is_narrow), {}).setdefault(layout, []).append(row)
    found: dict[str, list[list[Layout]]] = {}
    for (source, *_), layouts in groups.items():
        if source not in NOT_SCORED:
            found.setdefault(str(source), []).append([_folded(repeats) for repeats in layouts.values()])
    return found


def _folded(repeats: Sequence[Scored]) -> Layout:
    predicted = [row.predicted.value for row in repeats if row.predicted is not None]
    return Layout(
        measured=statistics.median(row.measured for row in repeats),
        predicted=statistics.median(predicted) if predicted else None,
    )


def order(rows: Iterable[Scored]) -> dict[str, Rank]:
    """Share of the pairs of layouts measured apart that are predicted in their order, by source.

    A tie is no order, and neither is a pair of which one is not answered.
    """
    right: dict[str, list[float]] = {}
    for source, found in jobs(rows).items():
        right[source] = [
            float(_in_order(*pair))
            for layouts in found
            for pair in itertools.combinations(layouts, 2)
            if _slower(*pair) / _faster(*pair) - 1 > APART_FRAC
        ]
    return _pooled(right, MIN_PAIRS)


def _slower(one: Layout, other: Layout) -> float:
    return max(one.measured, other.measured)


def _faster(one: Layout, other: Layout) -> float:
    return min(one.measured, other.measured)


def _in_order(one: Layout, other: Layout) -> bool:
    if one.predicted is None or other.predicted is None:
        return False
    return (one.predicted - other.predicted) * (one.measured - other.measured) > 0


def regret(rows: Iterable[Scored]) -> dict[str, Rank]:
    """Measured time of the layout predicted fastest over the fastest measured, minus one, by source.

    Ties are averaged. A layout that is not answered is never chosen; where none is answered, all tie.
    """
    lost: dict[str, list[float]] = {}
    for source, found in jobs(rows).items():
        lost[source] = [_regret(layouts) for layouts in found if len(layouts) >= MIN_LAYOUTS]
    return _pooled(lost, MIN_JOBS)


def _regret(layouts: Sequence[Layout]) -> float:
    answered = [layout.predicted for layout in layouts if layout.predicted is not None]
    chosen = [layout.measured for layout in layouts if not answered or layout.predicted == min(answered)]
    return statistics.fmean(chosen) / min(layout.measured for layout in layouts) - 1


def _pooled(values: dict[str, list[float]], least: int) -> dict[str, Rank]:
    pool = [value for found in values.values() if len(found) < least for value in found]
    ranks = {
        source: Rank(len(found), statistics.fmean(found)) for source, found in values.items() if len(found) >= least
    }
    return {**ranks, POOLED: Rank(len(pool), statistics.fmean(pool))} if pool else ranks


def mean_rank(ranks: dict[str, Rank]) -> float | None:
    """The mean over sources, those that are pooled counting as one; None where there are none."""
    return statistics.fmean(rank.mean for rank in ranks.values()) if ranks else None
