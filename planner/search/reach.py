"""Greedy cuts: each stage takes as many layers as it may. Finds whether a cut exists, and one with even stages."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable
from functools import partial

from planner.search.deadline import OutOfTime
from planner.search.stage_table import StageTable

BALANCE_FRAC = 1e-3
"""How exactly a balanced cut evens the stages: it only starts the search."""

Allowed = Callable[[int, int, int], bool]
"""(stage, first layer, number of layers) -> whether the stage may hold them; fewer layers are never less allowed."""


def furthest_cut(num_layers: int, num_stages: int, allowed: Allowed) -> tuple[int, ...] | None:
    """Layers per stage of a cut whose stages are all allowed, or None where there is none."""
    last = num_stages - 1
    cut: list[int] = []
    for stage in range(last):
        start = sum(cut)
        longest = num_layers - (last - stage) - start
        refused = partial(_refused, allowed, stage, start)
        size = bisect.bisect_left(range(1, longest + 1), True, key=refused)
        if size == 0:
            return None
        cut.append(size)
    rest = num_layers - sum(cut)
    return (*cut, rest) if allowed(last, num_layers - rest, rest) else None


def _refused(allowed: Allowed, stage: int, start: int, size: int) -> bool:
    return not allowed(stage, start, size)


def reach(table: StageTable, cap_s: float = math.inf) -> tuple[int, ...] | None:
    """A cut that fits into memory with no stage above `cap_s` per micro-batch, or None where none does."""

    def allowed(stage: int, start: int, size: int) -> bool:
        if sum(table.least_s(start, size)) > cap_s:
            return False
        option = table.option(stage, start, size)
        return option is not None and option.price.forward_s + option.price.backward_s <= cap_s

    return furthest_cut(len(table.setting.model.layers), table.mesh.pp, allowed)


def balanced(table: StageTable) -> tuple[int, ...] | None:
    """A cut that fits, with the slowest stage about as fast as any cut can have it; None where no cut fits.

    Less even where the deadline passes before; raises OutOfTime where it passes before any cut is found.
    """
    cut = reach(table)
    if cut is None or table.mesh.pp == 1:
        return cut
    low_s, high_s = 0.0, sum(price.forward_s + price.backward_s + price.recompute_s for price in table.prices)
    while high_s - low_s > BALANCE_FRAC * high_s:
        middle_s = (low_s + high_s) / 2
        try:
            better = reach(table, middle_s)
        except OutOfTime:
            return cut
        if better is None:
            low_s = middle_s
        else:
            cut, high_s = better, middle_s
    return cut
