"""The best plan of one mesh: cuts in rising order of their bound, each simulated, until no bound is below the best."""

from __future__ import annotations

import bisect
from collections.abc import Mapping
from dataclasses import dataclass

from costmodel.predict import simulate_step
from costmodel.price import LayerPrice
from costmodel.setting import Mesh, Setting
from costmodel.spec import Layer, Plan, Recompute
from costmodel.terms.pipeline_transfer import transfer
from planner.frameworks.framework import Framework, RecomputeFreedom
from planner.search.cut import Exhausted, best_cut
from planner.search.space import plan_of
from planner.search.stage_table import StageTable

MAX_CUTS = 40
"""Cuts simulated per mesh and recompute rule before the remaining gap is reported instead of closed."""
DETERMINISTIC_LIMIT = 5.0
"""CP-SAT's own unit of work per cut, so that the same input stops at the same place."""


@dataclass(frozen=True)
class Inner:
    """The best plan found below the limit, if any, and what no plan of this mesh undercuts."""

    plan: Plan | None
    step_time_s: float
    lower_bound_s: float
    fits: bool
    """False where no cut and no recompute choice of this mesh fits into memory."""


def recompute_rules(framework: Framework, num_blocks: int, fixed: str | None) -> tuple[int | None, ...]:
    """What a stage may recompute: a fixed number of its first blocks, or None for the least that fits."""
    if fixed is not None:
        return (num_blocks if Recompute(fixed) is Recompute.FULL else 0,)
    match framework.recompute_freedom:
        case RecomputeFreedom.EACH_LAYER:
            return (None,)
        case RecomputeFreedom.SAME_COUNT_PER_STAGE:
            return tuple(range(num_blocks + 1))
        case RecomputeFreedom.ALL_OR_NONE:
            return (0, num_blocks)


def best_plan(
    setting: Setting,
    framework: Framework,
    mesh: Mesh,
    prices: Mapping[Layer, LayerPrice],
    *,
    below_s: float,
    recompute: str | None,
    allow_tight: bool,
) -> Inner:
    """The fastest plan of `mesh` with a step time below `below_s`."""
    best, best_s, bound_s, fits = None, below_s, below_s, False
    for num_recomputed in recompute_rules(framework, setting.model.num_layers, recompute):
        if num_recomputed and _recompute_bound_s(setting, mesh, prices, num_recomputed) >= best_s:
            break
        table = StageTable(setting, mesh, prices, num_recomputed, allow_tight)
        first = reach(table)
        if first is None:
            continue
        fits = True
        found = _best_of(table, framework.name, first, best_s)
        bound_s = min(bound_s, found.lower_bound_s)
        if found.plan is not None:
            best, best_s = found.plan, found.step_time_s
    return Inner(best, best_s, min(bound_s, best_s), fits)


def reach(table: StageTable) -> tuple[int, ...] | None:
    """A cut that fits, or None where none does: each stage in turn takes as many layers as it can, since fewer never
    need more memory."""
    total, last = len(table.setting.model.layers), table.mesh.pp - 1
    cut: list[int] = []
    for stage in range(last):
        start = sum(cut)
        longest = total - (last - stage) - start
        size = bisect.bisect_left(range(1, longest + 1), True, key=lambda n: table.option(stage, start, n) is None)
        if size == 0:
            return None
        cut.append(size)
    rest = total - sum(cut)
    return (*cut, rest) if table.option(last, total - rest, rest) is not None else None


def _best_of(table: StageTable, framework: str, first: tuple[int, ...], below_s: float) -> Inner:
    """The fastest plan under one recompute rule: simulate cuts until the next bound is no better than the best.

    `first` is a cut that fits; with one stage there is no other.
    """
    setting, mesh = table.setting, table.mesh
    best: Plan | None = None
    best_s = below_s
    lower_bound_s = 0.0
    tried: list[tuple[int, ...]] = []
    cut = first
    while True:
        tried.append(cut)
        plan = _plan(table, framework, cut)
        step = simulate_step(setting, plan, table.prices)
        if step.time_s < best_s:
            best, best_s = plan, step.time_s
        if mesh.pp == 1 or lower_bound_s >= best_s:
            return Inner(best, best_s, best_s, True)
        if len(tried) > MAX_CUTS:
            return Inner(best, best_s, lower_bound_s, True)
        found = best_cut(table, transfer(setting, mesh).time_s, best_s - step.overhead_s, tried, DETERMINISTIC_LIMIT)
        if isinstance(found, Exhausted):
            return Inner(best, best_s, best_s if found.proven else lower_bound_s, True)
        cut, lower_bound_s = found.num_layers, found.lower_bound_s + step.overhead_s


def _plan(table: StageTable, framework: str, cut: tuple[int, ...]) -> Plan:
    modes: list[Recompute] = []
    for stage, size in enumerate(cut):
        option = table.option(stage, len(modes), size)
        if option is None:
            raise AssertionError(f"stage {stage} of cut {cut} does not fit, though the table offered it")
        modes += table.recompute_modes(len(modes), size, option.num_recomputed)
    return plan_of(framework, table.mesh, cut, tuple(modes))


def _recompute_bound_s(setting: Setting, mesh: Mesh, prices: Mapping[Layer, LayerPrice], num_recomputed: int) -> float:
    """What no cut undercuts when every stage recomputes `num_recomputed` blocks, or all it has."""
    blocks = [prices[layer] for layer in set(setting.model.blocks)]
    most_blocks = -(-setting.model.num_layers // mesh.pp)
    least_s = min(price.forward_s + price.backward_s for price in blocks)
    again_s = min(price.recompute_s for price in blocks)
    return mesh.num_microbatches * (most_blocks * least_s + min(num_recomputed, most_blocks) * again_s)
