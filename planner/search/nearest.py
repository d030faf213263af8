"""The nearest plan that works, where the one asked for does not.

Nearest is: as few of the fixed layout choices changed as can be, on the GPUs at hand before on more; among plans that
change equally many the fastest. A choice without effect (ZeRO with dp = 1, a schedule with pp = 1) does not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from costmodel.setting import Mesh
from costmodel.spec import Infeasible, Plan
from planner.frameworks import registry
from planner.frameworks.framework import Framework
from planner.job import Job, Layout, setting_of
from planner.search.best_first import Found, search
from planner.search.candidates import Candidate, find_candidates
from planner.search.deadline import NEVER, Deadline
from planner.search.shortage import describe

MAX_GROWTH = 64
"""More than this many times the GPUs are not tried."""

LOOK_FOR_S = 20.0
"""A hint is not worth a longer search: the fastest plan found until then is taken, proven or not."""

HINT_MAX_CUTS = 4
"""Cuts simulated per mesh. More seldom find a plan that is faster by more than a percent: they prove that there is
none, which nobody is told of a hint."""


@dataclass(frozen=True)
class Nearest:
    """A plan that works, and what had to change for it, in words."""

    plan: Plan
    change: str


def nearest_plan(
    job: Job, fixed: Layout, *, allow_tight: bool = False, least_changes: int = 0, deadline: Deadline = NEVER
) -> Nearest | None:
    """The nearest plan that changes at least `least_changes` of the choices in `fixed`; then twice the GPUs, and so on.

    None where none of it helps, or where the deadline, at most LOOK_FOR_S from now, passes before a plan is found.
    """
    deadline = min(deadline, Deadline.after(LOOK_FOR_S))
    plan = _on_cluster(job, fixed, allow_tight, least_changes, deadline)
    if plan is not None:
        return Nearest(plan, _changes(fixed, plan) or "with the other choices free")
    growth = 2
    while growth <= MAX_GROWTH and not deadline.passed:
        num_gpus = growth * job.cluster.num_devices
        cluster = job.cluster_of(num_gpus)
        if cluster is not None:
            plan = _on_cluster(replace(job, cluster=cluster), fixed, allow_tight, 0, deadline)
            if plan is not None:
                return Nearest(plan, f"on {num_gpus} GPUs {_changes(fixed, plan)}".rstrip())
        growth *= 2
    return None


def with_nearest(reason: Infeasible, nearest: Nearest | None) -> Infeasible:
    """`reason` with the nearest plan added to its sentence, where there is one."""
    if nearest is None:
        return reason
    sentence = f"{reason.sentence}; nearest plan that works, {nearest.change}: {describe(nearest.plan)}"
    return reason.model_copy(update={"sentence": sentence, "nearest": nearest.plan})


def changed(fixed: Layout, chosen: Plan | Mesh) -> list[str]:
    """Names of the fixed choices that a plan changes, or a mesh, which says nothing of recompute."""
    return [
        name
        for name, value in fixed.fixed().items()
        if not (name == "zero" and chosen.dp == 1)
        and not (name == "schedule" and chosen.pp == 1)
        and getattr(chosen, name, value) != value
    ]


def _on_cluster(job: Job, fixed: Layout, allow_tight: bool, least_changes: int, deadline: Deadline) -> Plan | None:
    """The fastest plan among those that change fewest choices, on the cluster of `job`."""
    framework = registry.get(job.framework)
    by_changes: dict[int, list[Candidate]] = {}
    for candidate in find_candidates(job, setting_of(job), framework, Layout()).expressible:
        by_changes.setdefault(len(changed(fixed, candidate.mesh)), []).append(candidate)
    for num_changes in range(least_changes, len(fixed.fixed()) + 1):
        # Recompute is a change of its own, which goes with one change fewer of the mesh.
        found = _fastest(by_changes.get(num_changes, ()), framework, fixed.recompute, allow_tight, deadline)
        if fixed.recompute is not None:
            found += _fastest(by_changes.get(num_changes - 1, ()), framework, None, allow_tight, deadline)
        if found:
            return min(found).plan
    return None


def _fastest(
    candidates: Sequence[Candidate],
    framework: Framework,
    recompute: str | None,
    allow_tight: bool,
    deadline: Deadline,
) -> tuple[Found, ...]:
    return search(
        candidates,
        framework,
        recompute=recompute,
        allow_tight=allow_tight,
        num_shown=1,
        deadline=deadline,
        max_cuts=HINT_MAX_CUTS,
    ).shown


def _changes(fixed: Layout, plan: Plan) -> str:
    """What the plan changes of the fixed choices, in words; empty where it changes none."""
    return " and ".join(
        f"with {name} {getattr(plan, name)} instead of {getattr(fixed, name)}" for name in changed(fixed, plan)
    )
