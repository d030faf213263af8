"""The best plan of one mesh: a balanced cut to start from, then cuts in rising order of their bound, each simulated,
until no bound is below the best."""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass, field

from costmodel.predict import simulate_step
from costmodel.setting import Setting
from costmodel.spec import Plan, Recompute
from costmodel.terms.pipeline_transfer import transfer
from planner.frameworks.framework import Framework, RecomputeFreedom
from planner.search.candidates import Candidate
from planner.search.cut import Exhausted, best_cut
from planner.search.space import plan_of
from planner.search.stage_table import StageTable

MAX_CUTS = 40
"""Cuts simulated per mesh and recompute rule before the remaining gap is reported instead of closed."""
BALANCE_FRAC = 1e-3
"""How exactly the first cut balances the stages: it only starts the search."""
DETERMINISTIC_LIMIT = 1.0
"""CP-SAT's own unit of work per cut, so that the same input stops at the same place."""


@dataclass(frozen=True)
class Priced:
    """A plan and its simulated step time."""

    plan: Plan
    step_time_s: float


@dataclass(frozen=True)
class Improved:
    """The fastest plan below the limit, if any, and what no plan of the mesh undercuts."""

    best: Priced | None
    lower_bound_s: float


@dataclass
class MeshSearch:
    """The inner problem of one candidate; tables are kept between `probe` and `improve`."""

    setting: Setting
    framework: Framework
    candidate: Candidate
    recompute: str | None
    allow_tight: bool
    _tables: dict[int | None, StageTable] = field(default_factory=dict)

    def probe(self) -> Priced | None:
        """A good plan at little cost, or None where no cut and no recompute choice fits into memory."""
        for num_recomputed in self._recompute_rules():
            table = self._table(num_recomputed)
            cut = balanced(table)
            if cut is not None:
                return self._price(table, cut)
        return None

    def improve(self, below_s: float, needed_s: float) -> Improved:
        """A faster plan than `below_s`, which must be finite, and a bound.

        Cuts are tried until none can be below `needed_s` (the best plan of all meshes) any more: what is slower is
        an alternative, and good enough without proof.
        """
        best: Priced | None = None
        best_s = bound_s = below_s
        for num_recomputed in self._recompute_rules():
            if num_recomputed and self._recompute_bound_s(num_recomputed) >= best_s:
                break
            found = self._best_cut(self._table(num_recomputed), best_s, needed_s)
            bound_s = min(bound_s, found.lower_bound_s)
            if found.best is not None:
                best, best_s = found.best, found.best.step_time_s
        return Improved(best, min(bound_s, best_s))

    def _best_cut(self, table: StageTable, below_s: float, needed_s: float) -> Improved:
        if table.mesh.pp == 1:
            whole = (len(self.setting.model.layers),)
            only = self._price(table, whole) if reach(table) is not None else None
            return Improved(only if only is not None and only.step_time_s < below_s else None, below_s)
        hop_s = transfer(self.setting, table.mesh).time_s
        overhead_s = self.setting.stack.step_overhead_s
        best: Priced | None = None
        best_s, bound_s = below_s, self.candidate.lower_bound_s
        tried: list[tuple[int, ...]] = []
        while len(tried) < MAX_CUTS:
            cut = best_cut(table, hop_s, best_s - overhead_s, tried, DETERMINISTIC_LIMIT)
            if isinstance(cut, Exhausted):
                return Improved(best, best_s if cut.proven else bound_s)
            tried.append(cut.num_layers)
            bound_s = max(bound_s, cut.lower_bound_s + overhead_s)
            priced = self._price(table, cut.num_layers)
            if priced.step_time_s < best_s:
                best, best_s = priced, priced.step_time_s
            if bound_s >= min(best_s, needed_s):
                return Improved(best, min(bound_s, best_s))
        return Improved(best, bound_s)

    def _recompute_rules(self) -> tuple[int | None, ...]:
        """What a stage may recompute: a fixed number of its first blocks, or None for the least that fits."""
        num_blocks = self.setting.model.num_layers
        if self.recompute is not None:
            return (num_blocks if Recompute(self.recompute) is Recompute.FULL else 0,)
        match self.framework.recompute_freedom:
            case RecomputeFreedom.EACH_LAYER:
                return (None,)
            case RecomputeFreedom.SAME_COUNT_PER_STAGE:
                return tuple(range(num_blocks + 1))
            case RecomputeFreedom.ALL_OR_NONE:
                return (0, num_blocks)

    def _recompute_bound_s(self, num_recomputed: int) -> float:
        """What no cut undercuts when every stage recomputes `num_recomputed` blocks, or all it has."""
        mesh, blocks = self.candidate.mesh, self.candidate.prices[1:-1]
        most_blocks = -(-len(blocks) // mesh.pp)
        least_s = min(price.forward_s + price.backward_s for price in blocks)
        again_s = min(price.recompute_s for price in blocks)
        return mesh.num_microbatches * (most_blocks * least_s + min(num_recomputed, most_blocks) * again_s)

    def _table(self, num_recomputed: int | None) -> StageTable:
        if num_recomputed not in self._tables:
            candidate = self.candidate
            self._tables[num_recomputed] = StageTable(
                self.setting, candidate.mesh, candidate.prices, num_recomputed, self.allow_tight
            )
        return self._tables[num_recomputed]

    def _price(self, table: StageTable, cut: tuple[int, ...]) -> Priced:
        modes: list[Recompute] = []
        for stage, size in enumerate(cut):
            option = table.option(stage, len(modes), size)
            if option is None:
                raise AssertionError(f"stage {stage} of cut {cut} does not fit, though the table offered it")
            modes += option.recompute
        plan = plan_of(self.framework.name, table.mesh, cut, tuple(modes))
        return Priced(plan, simulate_step(self.setting, plan, table.prices).time_s)


def reach(table: StageTable, cap_s: float = math.inf) -> tuple[int, ...] | None:
    """A cut that fits with no stage above `cap_s` per micro-batch, or None where none does.

    Each stage in turn takes as many layers as it can, since fewer never need more memory or time.
    """
    total, last = len(table.setting.model.layers), table.mesh.pp - 1

    def allowed(stage: int, start: int, size: int) -> bool:
        if sum(table.least_s(start, size)) > cap_s:
            return False
        option = table.option(stage, start, size)
        return option is not None and option.price.forward_s + option.price.backward_s <= cap_s

    cut: list[int] = []
    for stage in range(last):
        start = sum(cut)
        longest = total - (last - stage) - start
        size = bisect.bisect_left(range(1, longest + 1), True, key=lambda n: not allowed(stage, start, n))
        if size == 0:
            return None
        cut.append(size)
    rest = total - sum(cut)
    return (*cut, rest) if allowed(last, total - rest, rest) else None


def balanced(table: StageTable) -> tuple[int, ...] | None:
    """A cut that fits, with the slowest stage about as fast as any cut can have it; None where no cut fits."""
    cut = reach(table)
    if cut is None or table.mesh.pp == 1:
        return cut
    low_s, high_s = 0.0, sum(price.forward_s + price.backward_s + price.recompute_s for price in table.prices)
    while high_s - low_s > BALANCE_FRAC * high_s:
        middle_s = (low_s + high_s) / 2
        better = reach(table, middle_s)
        if better is None:
            low_s = middle_s
        else:
            cut, high_s = better, middle_s
    return cut
