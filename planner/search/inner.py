"""The best plan of one mesh: a balanced cut to start from, then cuts in rising order of their bound, each simulated,
until no bound is below the best."""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field
from functools import cached_property

from costmodel.predict import simulate_step
from costmodel.setting import Setting
from costmodel.spec import ModelSpec, Plan, Recompute
from costmodel.terms.pipeline_transfer import transfer
from planner.frameworks.framework import Framework, RecomputeFreedom
from planner.search.bounds import mesh_lower_bound_s
from planner.search.candidates import Candidate
from planner.search.cut import Exhausted, best_cut
from planner.search.deadline import Deadline, OutOfTime
from planner.search.reach import balanced, reach
from planner.search.space import even_cut, plan_of
from planner.search.stage_table import StageTable, within_limit

MAX_CUTS = 40
"""Cuts simulated per mesh and recompute rule before the remaining gap is reported instead of closed."""
DETERMINISTIC_LIMIT = 1.0
"""CP-SAT's own unit of work per cut, so that the same input stops at the same place."""

ROUNDING_FRAC = 1e-6
"""What whole numbers in the solver may cost: cuts that differ by less are alike, and their number is no measure of
progress. The bound that is reported is the one that was proven."""


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

    framework: Framework
    candidate: Candidate
    recompute: str | None
    allow_tight: bool
    deadline: Deadline
    max_cuts: int = MAX_CUTS
    """Cuts simulated per recompute rule."""
    _tables: dict[int | None, StageTable] = field(default_factory=dict)

    @property
    def setting(self) -> Setting:
        """What the cost model looks at."""
        return self.candidate.setting

    def even(self) -> Priced | None:
        """The plan with an even cut that recomputes as much as it must or, by one rule for all stages, everything.

        None where it does not fit, which is soon known; raises OutOfTime.
        """
        table = self._table(recompute_rules(self.setting.model, self.framework, self.recompute)[-1])
        cut = even_cut(self.setting.model, table.mesh.pp)
        places = ((stage, sum(cut[:stage]), size) for stage, size in enumerate(cut))
        return self._price(table, cut) if all(table.option(*place) is not None for place in places) else None

    def probe(self) -> Priced | None:
        """A good plan at little cost, or None where no cut and no recompute choice fits into memory.

        Raises OutOfTime where the deadline passes before either is known.
        """
        if not within_limit(self.setting, self.candidate.memory_floor_bytes, allow_tight=self.allow_tight):
            return None
        rules = self._rules_that_fit
        if not rules:
            return None
        table = self._table(rules[0])
        cut = balanced(table)
        return self._price(table, cut) if cut is not None else None

    def improve(self, below_s: float, needed_s: float) -> Improved:
        """A faster plan than `below_s`, which must be finite, and a bound.

        Cuts are tried until none can be below `needed_s` (the best plan of all meshes) any more: what is slower is
        an alternative, and good enough without proof.
        """
        best: Priced | None = None
        best_s = bound_s = below_s
        for num_recomputed in self._rules_that_fit:
            if num_recomputed:
                rule_bound_s = mesh_lower_bound_s(
                    self.setting, self.candidate.mesh, self.candidate.prices, num_recomputed
                )
                if rule_bound_s >= min(best_s, needed_s):
                    bound_s = min(bound_s, rule_bound_s)
                    break
            found = self._best_cut(self._table(num_recomputed), best_s, needed_s)
            bound_s = min(bound_s, found.lower_bound_s)
            if found.best is not None:
                best, best_s = found.best, found.best.step_time_s
        return Improved(best, min(bound_s, best_s))

    def _best_cut(self, table: StageTable, below_s: float, needed_s: float) -> Improved:
        if table.mesh.pp == 1:
            return self._only_cut(table, below_s)
        hop_s = transfer(self.setting, table.mesh).time_s
        overhead_s = self.setting.stack.step_overhead_s
        best: Priced | None = None
        best_s, bound_s = below_s, self.candidate.lower_bound_s
        tried: list[tuple[int, ...]] = []
        while len(tried) < self.max_cuts and not self.deadline.passed:
            try:
                cut = best_cut(table, hop_s, best_s - overhead_s, tried, DETERMINISTIC_LIMIT)
            except OutOfTime:
                break
            if isinstance(cut, Exhausted):
                return Improved(best, best_s if cut.proven else bound_s)
            tried.append(cut.num_layers)
            bound_s = max(bound_s, cut.lower_bound_s + overhead_s)
            priced = self._price(table, cut.num_layers)
            if priced.step_time_s < best_s:
                best, best_s = priced, priced.step_time_s
            # One more cut than rounding asks for: mostly there is none, and the proof is whole.
            margin_frac = ROUNDING_FRAC if len(tried) > 1 else 0.0
            if bound_s >= min(best_s, needed_s) * (1 - margin_frac):
                return Improved(best, min(bound_s, best_s))
        return Improved(best, bound_s)

    def _only_cut(self, table: StageTable, below_s: float) -> Improved:
        try:
            cut = reach(table)
        except OutOfTime:
            return Improved(None, self.candidate.lower_bound_s)
        priced = self._price(table, cut) if cut is not None else None
        return Improved(priced if priced is not None and priced.step_time_s < below_s else None, below_s)

    @cached_property
    def _rules_that_fit(self) -> tuple[int | None, ...]:
        """The recompute rules under which some cut fits: the first, or all from the one that frees enough memory."""

        def some_cut_fits(num_recomputed: int | None) -> bool:
            return reach(self._table(num_recomputed)) is not None

        rules = recompute_rules(self.setting.model, self.framework, self.recompute)
        if some_cut_fits(rules[0]):
            return rules
        if len(rules) == 1 or not some_cut_fits(rules[-1]):
            return ()
        return rules[bisect.bisect_left(rules, True, lo=1, hi=len(rules) - 1, key=some_cut_fits) :]

    def _table(self, num_recomputed: int | None) -> StageTable:
        if num_recomputed not in self._tables:
            candidate = self.candidate
            self._tables[num_recomputed] = StageTable(
                self.setting, candidate.mesh, candidate.prices, num_recomputed, self.allow_tight, self.deadline
            )
        return self._tables[num_recomputed]

    def _price(self, table: StageTable, cut: tuple[int, ...]) -> Priced:
        modes: list[Recompute] = []
        for stage, size in enumerate(cut):
            option = table.option(stage, len(modes), size)
            if option is None:
                raise AssertionError(f"stage {stage} of cut {cut} does not fit, though the table offered it")
            modes += table.modes(option, len(modes))
        plan = plan_of(self.framework.name, table.mesh, cut, tuple(modes))
        return Priced(plan, simulate_step(self.setting, plan, table.prices).time_s)


def recompute_rules(model: ModelSpec, framework: Framework, recompute: str | None) -> tuple[int | None, ...]:
    """What a stage may recompute: a fixed number of its first blocks, or None for the least that fits.

    In rising order; from one block on, each more frees memory in every stage.
    """
    if recompute is not None:
        return (model.num_inner_layers if Recompute(recompute) is Recompute.FULL else 0,)
    match framework.recompute_freedom:
        case RecomputeFreedom.EACH_LAYER:
            return (None,)
        case RecomputeFreedom.SAME_COUNT_PER_STAGE:
            return tuple(range(model.num_inner_layers + 1))
        case RecomputeFreedom.ALL_OR_NONE:
            return (0, model.num_inner_layers)
