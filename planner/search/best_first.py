"""Best first: layouts in the order of their lower bounds, until no bound left is below the plans that will be shown."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from costmodel.price import LayerPrice
from costmodel.spec import Plan
from planner.frameworks.framework import Framework
from planner.search.candidates import Candidate, Queue
from planner.search.deadline import Deadline, OutOfTime
from planner.search.inner import MAX_CUTS, MeshSearch, Priced

Progress = Callable[[str], None]

QUICK_PASSES = 10_000
"""Micro-batches times stages that are simulated in a fraction of a second."""


@dataclass(frozen=True, order=True)
class Found:
    """A plan with its time, and the prices it was found with; ordered by time, then as enumerated."""

    step_time_s: float
    number: int
    plan: Plan = field(compare=False)
    prices: tuple[LayerPrice, ...] = field(compare=False, repr=False)


@dataclass(frozen=True)
class Outcome:
    """What a search found, best first, and what it can prove."""

    shown: tuple[Found, ...]
    open_bounds_s: tuple[float, ...]
    """Bounds of meshes that may hold a faster plan: left by the deadline, or solved without proof."""
    solved: int
    pruned: int
    unfit: int
    """Meshes on which nothing fits into memory."""
    unseen: int
    """Meshes that the deadline left without a plan."""


def search(
    candidates: Sequence[Candidate],
    framework: Framework,
    *,
    recompute: str | None,
    allow_tight: bool,
    num_shown: int,
    deadline: Deadline,
    max_cuts: int = MAX_CUTS,
    on_progress: Progress | None = None,
) -> Outcome:
    """The fastest plan, and good ones of other meshes up to `num_shown` in all, best first.

    `max_cuts` bounds the stage cuts that are simulated per mesh and recompute rule: the fewer, the wider the gap.
    """
    best: dict[int, Found] = {}

    def cutoff_s() -> float:
        shown = sorted(best.values())[:num_shown]
        return shown[-1].step_time_s if len(shown) == num_shown else math.inf

    def keep(candidate: Candidate, priced: Priced) -> None:
        if candidate.number in best and best[candidate.number].step_time_s <= priced.step_time_s:
            return
        best[candidate.number] = Found(priced.step_time_s, candidate.number, priced.plan, candidate.prices)

    # With a time limit, some plan that fits comes before anything that takes long.
    if deadline.limited:
        first = _first_that_fits(candidates, framework, recompute, allow_tight, deadline)
        if first is not None:
            keep(*first)

    # Then a cheap plan of every mesh that may still matter, so that the exact search starts with a tight limit.
    queue, probed, unfit = Queue(candidates), list[MeshSearch](), 0
    while len(queue) and queue.least_s < cutoff_s() and not deadline.passed:
        candidate = queue.pop()
        if candidate is None:
            continue
        mesh_search = MeshSearch(framework, candidate, recompute, allow_tight, deadline, max_cuts)
        try:
            priced = mesh_search.probe()
        except OutOfTime:
            queue.push(candidate)
            break
        if priced is None:
            unfit += 1
        else:
            keep(candidate, priced)
            probed.append(mesh_search)
        if on_progress is not None:
            on_progress(f"{len(probed) + unfit} layouts priced of {len(candidates)}")
    unseen_s = [bound_s for bound_s in queue.bounds_s if bound_s < cutoff_s()]
    open_bounds_s = list(unseen_s)

    # At last the best cut and recompute of each, the most promising first.
    solved = unsolved = 0
    for mesh_search in probed:
        number, bound_s = mesh_search.candidate.number, mesh_search.candidate.lower_bound_s
        limit_s = min(cutoff_s(), best[number].step_time_s)
        if bound_s >= limit_s:
            continue
        if deadline.passed:
            open_bounds_s.append(bound_s)
            unsolved += 1
            continue
        improved = mesh_search.improve(limit_s, min(best.values()).step_time_s)
        solved += 1
        if improved.best is not None:
            keep(mesh_search.candidate, improved.best)
        if improved.lower_bound_s < min(limit_s, best[number].step_time_s):
            open_bounds_s.append(improved.lower_bound_s)
        if on_progress is not None:
            on_progress(f"{solved} layouts solved of {len(probed)}")
    shown = tuple(sorted(best.values())[:num_shown])
    pruned = len(candidates) - solved - unsolved - unfit - len(unseen_s)
    return Outcome(shown, tuple(open_bounds_s), solved, pruned, unfit, len(unseen_s))


def _first_that_fits(
    candidates: Sequence[Candidate], framework: Framework, recompute: str | None, allow_tight: bool, deadline: Deadline
) -> tuple[Candidate, Priced] | None:
    """The mesh with the least floor whose even plan fits, quickly simulated ones first; None if not found in time."""

    def order(candidate: Candidate) -> tuple[bool, float]:
        mesh = candidate.mesh
        return mesh.pp > 1 and mesh.pp * mesh.num_microbatches > QUICK_PASSES, candidate.floor_s

    try:
        for candidate in sorted(candidates, key=order):
            priced = MeshSearch(framework, candidate, recompute, allow_tight, deadline).even()
            if priced is not None:
                return candidate, priced
    except OutOfTime:
        pass
    return None
