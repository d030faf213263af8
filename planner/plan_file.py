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
from planner.job import Job

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
        assumptions=job.first_line,
        input_hashes=job.input_hashes,
        versions=versions,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
