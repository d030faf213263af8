"""The JSON object that `solve` and `check` print."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from costmodel.spec import Baseline, Infeasible, Plan, PlanFile, Prediction
from planner.job import Answer

PREDICTION_KEYS = (
    "step_time_s",
    "step_time_low_s",
    "step_time_high_s",
    "tokens_per_s_per_gpu",
    "mfu_frac",
    "bubble_frac",
    "peak_memory_bytes",
    "peak_memory_low_bytes",
    "peak_memory_high_bytes",
    "peak_stage",
    "memory_limit_bytes",
    "verdict",
)
"""Keys of a prediction that stand at the top of the object, under the same names as in the plan file."""


def answer_object(answer: Answer, path: Path | None) -> dict[str, Any]:
    """Everything a program wants to know of an answer; `path` is where the plan file was written.

    An answer that nothing fits has the keys `rule`, `sentence`, `stage`, `missing_bytes` and `nearest`, and those of
    a prediction only if there is one.
    """
    result: dict[str, Any] = {}
    if answer.plan_file is not None:
        result |= plan_file_object(answer.plan_file)
        result["file"] = None if path is None else str(path)
    if answer.infeasible is not None:
        result |= infeasible_object(answer.infeasible)
    return result


def plan_file_object(file: PlanFile) -> dict[str, Any]:
    """The answer that stands in a plan file."""
    return {
        "plan": plan_object(file.plan),
        **prediction_object(file.prediction),
        "interval_note": file.prediction.interval_note,
        "source": file.prediction.source.value,
        "workload": file.workload.model_dump(mode="json"),
        "baseline": baseline_object(file.baselines[0]) if file.baselines else None,
        "baselines": [baseline_object(baseline) for baseline in file.baselines],
        "certificate": None if file.certificate is None else file.certificate.model_dump(mode="json"),
        "alternatives": [
            {"plan": plan_object(other.plan), **prediction_object(other.prediction), "why_not": other.why_not}
            for other in file.alternatives
        ],
        "sensitivities": [sensitivity.model_dump(mode="json") for sensitivity in file.sensitivities],
        "assumptions": list(file.assumptions),
    }


def plan_object(plan: Plan) -> dict[str, Any]:
    """The plan with its recompute in one word, its id, and every field of its own."""
    fields = plan.model_dump(mode="json")
    del fields["schema"]
    return {**fields, "recompute": plan.recompute, "plan_id": plan.plan_id}


def prediction_object(prediction: Prediction) -> dict[str, Any]:
    """The figures of a prediction."""
    data = prediction.model_dump(mode="json")
    return {key: data[key] for key in PREDICTION_KEYS}


def baseline_object(baseline: Baseline) -> dict[str, Any]:
    """What a rule of thumb gives: its plan and time, or why it cannot be."""
    result: dict[str, Any] = {"name": baseline.name, "rule_of_thumb": baseline.rule, "plan": None, "step_time_s": None}
    if baseline.plan is not None:
        result["plan"] = plan_object(baseline.plan)
    if baseline.prediction is not None:
        result |= prediction_object(baseline.prediction)
    if baseline.infeasible is not None:
        result |= infeasible_object(baseline.infeasible)
    return result


def infeasible_object(infeasible: Infeasible) -> dict[str, Any]:
    """Why nothing fits, and the nearest plan that would."""
    return {
        "rule": infeasible.rule,
        "sentence": infeasible.sentence,
        "stage": infeasible.stage,
        "missing_bytes": infeasible.missing_bytes,
        "needed": infeasible.needed,
        "limit": infeasible.limit,
        "nearest": None if infeasible.nearest is None else plan_object(infeasible.nearest),
    }
