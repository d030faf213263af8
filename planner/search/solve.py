"""solve(): the fastest plan that fits, with a certificate. Best first: meshes in the order of their lower bounds.

The search stops when no bound left is below the plans it will show, so the first of them is proven optimal for the
cost model; with a time limit the certificate states the gap that is left.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from costmodel.predict import WAIT_TERM, predict_priced
from costmodel.price import LayerPrice
from costmodel.setting import Setting
from costmodel.spec import Alternative, Certificate, Infeasible, Plan, Prediction
from costmodel.stage_price import RECOMPUTE_TERM
from costmodel.terms import optimizer, tp_collectives, zero_traffic
from costmodel.units import format_seconds
from planner.frameworks import registry
from planner.frameworks.framework import Framework
from planner.job import Answer, Job, Layout
from planner.plan_file import make_plan_file
from planner.search import baselines, sensitivity
from planner.search.candidates import Candidates, find_candidates
from planner.search.inner import MeshSearch, Priced
from planner.search.nearest import nearest_plan, out_of_memory, with_nearest
from planner.search.space import SPACE

NUM_SHOWN = 6
"""Plans kept: the best and the next best ones."""

CHANGEABLE_TERMS = frozenset({tp_collectives.TERM, zero_traffic.TERM, RECOMPUTE_TERM, WAIT_TERM, optimizer.TERM})
"""Terms that a layout decides; the others are the model's own computing."""

Progress = Callable[[str], None]


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
    """Bounds of meshes that were left unsolved by the time limit, or solved without proof."""
    solved: int
    pruned: int
    out_of_memory: int


def solve(
    job: Job,
    fixed: Layout,
    *,
    allow_tight: bool = False,
    time_limit_s: float | None = None,
    on_progress: Progress | None = None,
) -> Answer:
    """Search all plans that agree with `fixed`; the answer holds the best one, or why nothing fits.

    Plans whose memory is only TIGHT are left out unless `allow_tight`.
    """
    started_s = time.monotonic()
    setting, framework = setting_of(job), registry.get(job.framework)
    candidates = find_candidates(job, setting, framework, fixed)
    outcome = search(
        setting,
        framework,
        candidates,
        recompute=fixed.recompute,
        allow_tight=allow_tight,
        num_shown=NUM_SHOWN,
        time_limit_s=time_limit_s,
        on_progress=on_progress,
    )
    if not outcome.shown:
        return Answer(None, _nothing_fits(job, setting, framework, fixed, candidates, allow_tight))

    predictions = [(found.plan, predict_priced(setting, found.plan, found.prices)) for found in outcome.shown]
    plan, best = predictions[0]
    bound_s = min(best.step_time_s, *outcome.open_bounds_s, math.inf)
    full_bound_s = bound_s
    if fixed.fixed():
        whole = find_candidates(job, setting, framework, Layout())
        full_bound_s = min(bound_s, *(candidate.lower_bound_s for candidate in whole.expressible), math.inf)
    refused = dict(candidates.refused)
    if outcome.out_of_memory:
        refused["memory"] = outcome.out_of_memory
    certificate = Certificate(
        lower_bound_s=full_bound_s,
        gap_frac=1 - full_bound_s / best.step_time_s,
        gap_in_space_frac=1 - bound_s / best.step_time_s,
        space=SPACE.format(framework=framework.title),
        restrictions=tuple(f"{name} = {value}" for name, value in fixed.fixed().items()),
        considered=candidates.considered,
        pruned=outcome.pruned,
        solved=outcome.solved,
        refused=dict(sorted(refused.items())),
        wall_s=time.monotonic() - started_s,
    )
    alternatives = (
        Alternative(plan=other, prediction=prediction, why_not=why_not(best, prediction))
        for other, prediction in predictions[1:]
    )
    plan_file = make_plan_file(
        job,
        plan,
        best,
        certificate=certificate,
        alternatives=tuple(alternatives),
        baselines=baselines.all_baselines(setting, framework),
        refused=candidates.examples,
        sensitivities=sensitivity.to_assumed_links(setting, plan),
    )
    return Answer(plan_file, None)


def setting_of(job: Job) -> Setting:
    """What the cost model looks at."""
    return Setting(job.model, job.workload, job.cluster, job.stack, job.profile)


def search(
    setting: Setting,
    framework: Framework,
    candidates: Candidates,
    *,
    recompute: str | None,
    allow_tight: bool,
    num_shown: int,
    time_limit_s: float | None = None,
    on_progress: Progress | None = None,
) -> Outcome:
    """The `num_shown` fastest plans, each of a mesh of its own, best first."""
    started_s = time.monotonic()
    best: dict[int, Found] = {}
    searches: list[MeshSearch] = []
    unfit = 0

    def cutoff_s() -> float:
        shown = sorted(best.values())[:num_shown]
        return shown[-1].step_time_s if len(shown) == num_shown else math.inf

    def keep(search: MeshSearch, priced: Priced) -> None:
        candidate = search.candidate
        best[candidate.number] = Found(priced.step_time_s, candidate.number, priced.plan, candidate.prices)

    def out_of_time() -> bool:
        return time_limit_s is not None and bool(best) and time.monotonic() - started_s > time_limit_s

    # First a cheap plan of every mesh that may still matter, so that the exact search starts with a tight limit.
    ordered = sorted(candidates.expressible)
    open_bounds_s: list[float] = []
    num_unsolved = 0
    for candidate in ordered:
        if candidate.lower_bound_s >= cutoff_s():
            break
        if out_of_time():
            open_bounds_s.append(candidate.lower_bound_s)
            num_unsolved += 1
            continue
        search = MeshSearch(setting, framework, candidate, recompute, allow_tight)
        priced = search.probe()
        if priced is None:
            unfit += 1
        else:
            keep(search, priced)
            searches.append(search)
        if on_progress is not None:
            on_progress(f"{len(searches) + unfit} layouts priced of {len(ordered)}")

    # Then the best cut and recompute of each, the most promising first.
    solved = 0
    for search in searches:
        number, bound_s = search.candidate.number, search.candidate.lower_bound_s
        limit_s = min(cutoff_s(), best[number].step_time_s)
        if bound_s >= limit_s:
            continue
        if out_of_time():
            open_bounds_s.append(bound_s)
            num_unsolved += 1
            continue
        improved = search.improve(limit_s, min(best.values()).step_time_s)
        solved += 1
        if improved.best is not None:
            keep(search, improved.best)
        if improved.lower_bound_s < min(limit_s, best[number].step_time_s):
            open_bounds_s.append(improved.lower_bound_s)
        if on_progress is not None:
            on_progress(f"{solved} layouts solved of {len(searches)}")
    shown = tuple(sorted(best.values())[:num_shown])
    pruned = len(ordered) - solved - unfit - num_unsolved
    return Outcome(shown, tuple(open_bounds_s), solved, pruned, unfit)


def fastest_plan(job: Job, fixed: Layout, *, allow_tight: bool = False) -> Plan | None:
    """The plan `solve` would choose, without proof and report; None where nothing fits."""
    setting, framework = setting_of(job), registry.get(job.framework)
    outcome = search(
        setting,
        framework,
        find_candidates(job, setting, framework, fixed),
        recompute=fixed.recompute,
        allow_tight=allow_tight,
        num_shown=1,
    )
    return outcome.shown[0].plan if outcome.shown else None


def why_not(best: Prediction, other: Prediction) -> str:
    """What makes another plan slower: the part of its slowest rank's time that grows most."""
    slower_frac = other.step_time_s / best.step_time_s - 1
    if slower_frac < 5e-4:
        return "as fast as the plan"
    before_s, after_s = _parts(best), _parts(other)
    growth_s = {name: time_s - before_s.get(name, 0.0) for name, time_s in after_s.items()}
    name = max(growth_s, key=lambda part: growth_s[part])
    return f"{slower_frac:.1%} slower: {format_seconds(growth_s[name])} more {name} on the slowest rank"


def _parts(prediction: Prediction) -> dict[str, float]:
    """Step time by what a plan can change; all terms of computing count as one, since they move together."""
    parts: dict[str, float] = {}
    for term in prediction.terms:
        part = term.name if term.name in CHANGEABLE_TERMS else "computing"
        parts[part] = parts.get(part, 0.0) + term.time_s
    return parts


def _nothing_fits(
    job: Job, setting: Setting, framework: Framework, fixed: Layout, candidates: Candidates, allow_tight: bool
) -> Infeasible:
    """The rule that leaves nothing, with the nearest plan that works."""
    if candidates.expressible:
        reason = out_of_memory(setting, framework, fixed, candidates.expressible)
    else:
        reason = candidates.examples[0].infeasible if candidates.examples else _no_mesh(job, fixed)

    def find(other: Job, layout: Layout) -> Plan | None:
        return fastest_plan(other, layout, allow_tight=allow_tight)

    return with_nearest(reason, nearest_plan(job, fixed, find))


def _no_mesh(job: Job, fixed: Layout) -> Infeasible:
    """No degrees multiply out to the number of GPUs, or none divides the batch."""
    choices = ", ".join(f"{name} = {value}" for name, value in fixed.fixed().items()) or "any choice"
    return Infeasible(
        rule="degrees_multiply",
        sentence=f"no tp x pp x dp = {job.cluster.num_devices} GPUs agrees with {choices} and a dp x micro_batch "
        f"that divides global_batch = {job.workload.global_batch} and at most {len(job.model.layers)} stages; "
        f"choose degrees that divide {job.cluster.num_devices} and a global batch that dp divides",
        needed=None,
        limit=job.cluster.num_devices,
    )
