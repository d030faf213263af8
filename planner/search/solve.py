"""solve(): the fastest plan that fits, with a certificate. Best first: meshes in the order of their lower bounds.

The search stops when no bound left is below the plans it will show, so the first of them is proven optimal for the
cost model; with a time limit the certificate states the gap that is left.
"""

from __future__ import annotations

import math
import time

from costmodel.errors import BadInputError
from costmodel.predict import WAIT_TERM, predict_priced
from costmodel.spec import Alternative, Certificate, Infeasible, Prediction
from costmodel.stage_price import RECOMPUTE_TERM
from costmodel.terms import optimizer, tp_collectives, zero_traffic
from costmodel.units import format_seconds
from planner.frameworks import registry
from planner.frameworks.framework import Framework
from planner.job import Answer, Job, Layout, setting_of
from planner.plan_file import make_plan_file
from planner.search import baselines, sensitivity
from planner.search.best_first import Progress, search
from planner.search.candidates import Candidates, find_candidates, least_bound_s
from planner.search.deadline import Deadline
from planner.search.leanest import leanest_plan
from planner.search.nearest import nearest_plan, with_nearest
from planner.search.shortage import memory_shortage
from planner.search.space import SPACE

NUM_SHOWN = 6
"""Plans kept: the best and the next best ones."""

CHANGEABLE_TERMS = frozenset({tp_collectives.TERM, zero_traffic.TERM, RECOMPUTE_TERM, WAIT_TERM, optimizer.TERM})
"""Terms that a layout decides; the others are the model's own computing."""


def solve(
    job: Job,
    fixed: Layout,
    *,
    allow_tight: bool = False,
    time_limit_s: float | None = None,
    on_progress: Progress | None = None,
) -> Answer:
    """Search all plans that agree with `fixed`; the answer holds the best one, or why nothing fits.

    Plans whose memory is only TIGHT are left out unless `allow_tight`. After `time_limit_s` seconds the best plan so
    far is the answer; the certificate says how far off it can be. Raises BadInputError where no plan was found by then.
    """
    started_s, deadline = time.monotonic(), Deadline.after(time_limit_s)
    setting, framework = setting_of(job), registry.get(job.framework)
    candidates = find_candidates(job, setting, framework, fixed)
    outcome = search(
        candidates.expressible,
        framework,
        recompute=fixed.recompute,
        allow_tight=allow_tight,
        num_shown=NUM_SHOWN,
        deadline=deadline,
        on_progress=on_progress,
    )
    if not outcome.shown:
        if outcome.unseen:
            raise BadInputError(
                f"--time-limit is {time_limit_s:g} s, in which no plan that fits was found, though there may be one: "
                f"{outcome.unfit} of {len(candidates.expressible)} layouts were found not to fit; allow more time"
            )
        return Answer(None, _nothing_fits(job, framework, fixed, candidates, allow_tight, deadline))

    predictions = [(found.plan, predict_priced(setting, found.plan, found.prices)) for found in outcome.shown]
    plan, best = predictions[0]
    bound_s = full_bound_s = min(best.step_time_s, *outcome.open_bounds_s, math.inf)
    if fixed.fixed():
        whole = find_candidates(job, setting, framework, Layout())
        full_bound_s = least_bound_s(whole.expressible, bound_s, deadline)
    refused = dict(candidates.refused)
    if outcome.unfit:
        refused["memory"] = outcome.unfit
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
    job: Job, framework: Framework, fixed: Layout, candidates: Candidates, allow_tight: bool, deadline: Deadline
) -> Infeasible:
    """The rule that leaves nothing, with the nearest plan that works; for memory, the plan that misses by least."""
    if candidates.expressible:
        candidate, plan = leanest_plan(candidates.expressible, framework, fixed.recompute, deadline)
        prediction = predict_priced(candidate.setting, plan, candidate.prices)
        reason = memory_shortage(plan, prediction, allow_tight=allow_tight)
    else:
        reason = candidates.examples[0].infeasible if candidates.examples else _no_mesh(job, fixed)
    nearest = nearest_plan(job, fixed, allow_tight=allow_tight, least_changes=1, deadline=deadline)
    return with_nearest(reason, nearest)


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
