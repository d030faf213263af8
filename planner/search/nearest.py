"""When nothing fits: which rule, how much is missing and where, and the nearest plan that works."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from costmodel.predict import predict_priced
from costmodel.setting import Setting
from costmodel.spec import Infeasible, Plan, Prediction, Recompute
from costmodel.units import format_bytes
from planner.frameworks.framework import Framework
from planner.job import Job, Layout
from planner.search.candidates import Candidate
from planner.search.space import even_plan

Search = Callable[[Job, Layout], Plan | None]
"""Finds the best plan of a job, or None where nothing fits."""

MAX_GROWTH = 64
"""More than this many times the GPUs are not tried."""


@dataclass(frozen=True)
class Nearest:
    """A plan that works, and what had to change for it."""

    plan: Plan
    change: str


def out_of_memory(setting: Setting, framework: Framework, fixed: Layout, candidates: Sequence[Candidate]) -> Infeasible:
    """The plan that misses the limit by least, in numbers: stage, missing bytes, largest kind of memory."""
    recompute = Recompute(fixed.recompute) if fixed.recompute is not None else Recompute.FULL
    smallest: tuple[Plan, Prediction] | None = None
    for candidate in candidates:
        plan = even_plan(setting.model, framework.name, candidate.mesh, recompute)
        prediction = predict_priced(setting, plan, candidate.prices)
        if smallest is None or prediction.peak_memory_high_bytes < smallest[1].peak_memory_high_bytes:
            smallest = plan, prediction
    if smallest is None:
        raise ValueError("there is no candidate that could be out of memory")
    return memory_shortage(*smallest)


def memory_shortage(plan: Plan, prediction: Prediction) -> Infeasible:
    """Why `plan` does not fit, on the stage with the highest peak."""
    stage = prediction.stages[prediction.peak_stage]
    largest = max(stage.items, key=lambda item: item.steady_bytes)
    missing_bytes = max(0, prediction.peak_memory_high_bytes - prediction.memory_limit_bytes)
    needed, limit = format_bytes(prediction.peak_memory_high_bytes), format_bytes(prediction.memory_limit_bytes)
    return Infeasible(
        rule="memory",
        sentence=f"{describe(plan)} needs up to {needed} on stage {stage.stage}, most of it {largest.name}, "
        f"but a process may allocate {limit}: {format_bytes(missing_bytes)} are missing",
        needed=prediction.peak_memory_high_bytes,
        limit=prediction.memory_limit_bytes,
        stage=stage.stage,
        missing_bytes=missing_bytes,
    )


def nearest_plan(job: Job, fixed: Layout, search: Search) -> Nearest | None:
    """The first of: one fixed choice given up, all given up, twice the GPUs and so on; None where none of it helps."""
    for name, value in fixed.fixed().items():
        plan = search(job, replace(fixed, **{name: None}))
        if plan is not None:
            return Nearest(plan, f"without {name} = {value}")
    if len(fixed.fixed()) > 1:
        plan = search(job, Layout())
        if plan is not None:
            return Nearest(plan, "with no choice fixed")
    growth = 2
    while growth <= MAX_GROWTH:
        num_gpus = growth * job.cluster.num_devices
        cluster = job.cluster_of(num_gpus)
        plan = search(replace(job, cluster=cluster), Layout()) if cluster is not None else None
        if plan is not None:
            return Nearest(plan, f"on {num_gpus} GPUs")
        growth *= 2
    return None


def with_nearest(reason: Infeasible, nearest: Nearest | None) -> Infeasible:
    """`reason` with the nearest plan added to its sentence, where there is one."""
    if nearest is None:
        return reason
    sentence = f"{reason.sentence}; nearest plan that works, {nearest.change}: {describe(nearest.plan)}"
    return reason.model_copy(update={"sentence": sentence, "nearest": nearest.plan})


def describe(plan: Plan) -> str:
    """A plan in half a sentence."""
    return (
        f"tp {plan.tp} x pp {plan.pp} x dp {plan.dp} with ZeRO-{plan.zero}, micro-batch {plan.micro_batch}, "
        f"recompute {plan.recompute}"
    )
