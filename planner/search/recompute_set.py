"""Which layers of a stage to recompute: the set that adds least time among those that free enough memory.

A knapsack turned round, with few kinds of layers and many of each. Solved exactly by branch and bound: kinds in the
order of time per freed byte, bounded from below by filling up with a fraction of a layer. Where many kinds are nearly
alike that takes too long, and CP-SAT takes over.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ortools.sat.python import cp_model

from planner.search.deadline import Deadline, OutOfTime

MAX_NODES = 5_000
"""Branches, some tens of milliseconds, that kinds which differ never need."""
TICKS = 10**12
"""Parts of the longest time in which CP-SAT counts, which takes whole numbers."""
SAME_TIME_FRAC = 1e-9
"""Sets whose times differ by less are equally good: without it, kinds that differ by rounding alone are all tried."""


@dataclass(frozen=True)
class RecomputedKind:
    """Layers of a stage that are equal, so that it makes no difference which of them are recomputed."""

    layers: tuple[int, ...]
    """Their numbers."""
    time_s: float
    """What recomputing one adds to a micro-batch."""
    freed_bytes: int
    """What recomputing one frees of a micro-batch."""
    working_bytes: int
    """What comes back while it is recomputed."""


def cheapest_set(
    kinds: Sequence[RecomputedKind], needed_bytes: Callable[[int], int | None], deadline: Deadline
) -> list[int] | None:
    """Numbers of the layers to recompute, or None where no set frees enough.

    `needed_bytes` says how much the set must free of a micro-batch where its largest layer needs so many working
    bytes; None where no set with such a layer fits. Of equal layers the first ones are taken. Raises OutOfTime where
    the deadline passes first.
    """
    best: list[int] | None = None
    best_s = math.inf
    useful = [kind for kind in kinds if kind.freed_bytes > 0]
    for largest_bytes in sorted({kind.working_bytes for kind in useful}):
        needed = needed_bytes(largest_bytes)
        if needed is None:
            break  # larger ones need more still
        allowed = [kind for kind in useful if kind.working_bytes <= largest_bytes]
        search = _Search(sorted(allowed, key=lambda kind: kind.time_s / kind.freed_bytes), best_s, deadline)
        try:
            search.go(0, needed, 0.0, [])
        except _TooManyNodes:
            search.solve(needed)
        if search.best is not None:
            best, best_s = search.best, search.best_s
    return best


class _TooManyNodes(Exception):  # noqa: N818 -- not an error: another method takes over
    """Branch and bound does not come to an end."""


class _Search:
    """Branch and bound over how many layers of each kind are recomputed."""

    def __init__(self, kinds: Sequence[RecomputedKind], below_s: float, deadline: Deadline) -> None:
        self.kinds = kinds
        self.deadline = deadline
        self.nodes = 0
        self.best: list[int] | None = None
        self.best_s = below_s

    def go(self, index: int, needed: int, time_s: float, chosen: list[int]) -> None:
        """Choose for the kinds from `index` on, so that they free `needed` bytes."""
        if needed <= 0:
            if time_s < self.best_s:
                self.best, self.best_s = chosen, time_s
            return
        if time_s + self._least_s(index, needed) >= self.best_s * (1 - SAME_TIME_FRAC):
            return
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise _TooManyNodes
        self.deadline.check()
        kind = self.kinds[index]
        for count in range(min(len(kind.layers), -(-needed // kind.freed_bytes)), -1, -1):
            self.go(
                index + 1,
                needed - count * kind.freed_bytes,
                time_s + count * kind.time_s,
                [*chosen, *kind.layers[:count]],
            )

    def solve(self, needed: int) -> None:
        """The same by CP-SAT, with times in whole parts of the longest that they can add up to."""
        longest_s = sum(len(kind.layers) * kind.time_s for kind in self.kinds)
        model = cp_model.CpModel()
        counts = [model.new_int_var(0, len(kind.layers), "") for kind in self.kinds]
        model.add(sum(count * kind.freed_bytes for count, kind in zip(counts, self.kinds, strict=True)) >= needed)
        ticks = [round(kind.time_s / longest_s * TICKS) for kind in self.kinds]
        model.minimize(sum(count * tick for count, tick in zip(counts, ticks, strict=True)))
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        if self.deadline.limited:
            solver.parameters.max_time_in_seconds = self.deadline.left_s
        status = solver.solve(model)
        if status not in (cp_model.OPTIMAL, cp_model.INFEASIBLE):
            raise OutOfTime
        if status == cp_model.INFEASIBLE:
            return
        chosen = [solver.value(count) for count in counts]
        time_s = sum(count * kind.time_s for count, kind in zip(chosen, self.kinds, strict=True))
        if time_s < self.best_s:
            self.best_s = time_s
            self.best = [layer for count, kind in zip(chosen, self.kinds, strict=True) for layer in kind.layers[:count]]

    def _least_s(self, index: int, needed: int) -> float:
        """Time that the kinds from `index` on take at least: infinite where all of them free too little."""
        time_s = 0.0
        for kind in self.kinds[index:]:
            whole = len(kind.layers) * kind.freed_bytes
            if whole >= needed:
                return time_s + needed * (kind.time_s / kind.freed_bytes)
            time_s += len(kind.layers) * kind.time_s
            needed -= whole
        return math.inf
