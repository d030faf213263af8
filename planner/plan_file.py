"""Puts an answer together with everything it rests on: the PlanFile that later commands read."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from importlib import metadata

from costmodel.spec import (
    Alternative,
    Baseline,
    Certificate,
    Plan,
    PlanFile,
    Prediction,
    RefusedPlan,
    Sensitivity,
)
from costmodel.terms import tensor_dispatch
from planner.job import Job, setting_of

DISTRIBUTIONS = ("parallelism-planner", "ortools", "pydantic")
"""What decides the numbers of a plan."""


def make_plan_file(
    job: Job,
    plan: Plan,
    prediction: Prediction,
    *,
    certificate: Certificate | None,
    alternatives: tuple[Alternative, ...] = (),
    baselines: tuple[Baseline, ...] = (),
    refused: tuple[RefusedPlan, ...] = (),
    sensitivities: tuple[Sensitivity, ...] = (),
) -> PlanFile:
    """The plan file of an answer, dated now."""
    versions = {"python": platform.python_version()}
    versions.update({name: metadata.version(name) for name in DISTRIBUTIONS})
    return PlanFile(
        hf_config=job.hf_config,
        model=job.model,
        workload=job.workload,
        cluster=job.cluster,
        stack=job.stack,
        profile=job.profile,
        plan=plan,
        prediction=prediction,
        certificate=certificate,
        alternatives=alternatives,
        baselines=baselines,
        refused=refused,
        sensitivities=sensitivities,
        assumptions=(*job.first_line, *_left_out(job, plan)),
        input_hashes=job.input_hashes,
        versions=versions,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _left_out(job: Job, plan: Plan) -> tuple[str, ...]:
    """What the step time does not hold, in sentences."""
    if tensor_dispatch.is_left_out(setting_of(job), plan.tp):
        return (
            f"The host time of dispatching sharded tensors with tp {plan.tp} is not in the step time: no profile of "
            f"{job.cluster.device.name} says how long it takes.",
        )
    return ()
