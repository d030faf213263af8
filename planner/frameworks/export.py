"""Writes a plan as the files of a training framework."""

from __future__ import annotations

from pathlib import Path

from costmodel import stacks
from costmodel.errors import BadInputError
from costmodel.predict import predict
from costmodel.spec import Infeasible, PlanFile, Verdict
from costmodel.units import format_bytes
from planner import files
from planner.frameworks import registry
from planner.frameworks.describe import MARK
from planner.frameworks.framework import Framework


def export(plan_file: PlanFile, to: str, launcher: str, out_dir: Path, *, force: bool = False) -> tuple[Path, ...]:
    """Write the files of framework `to` into `out_dir`, which is made if need be; returns their paths.

    A plan made for another framework is priced anew and taken over if `to` can express it. Files of an earlier export
    are replaced, others only with `force`; nothing is written if one of them is in the way. Raises BadInputError for a
    framework or launcher that is not known, a plan that `to` cannot express, and a folder that cannot be written.
    """
    framework = registry.get(to)
    if plan_file.model.architecture not in framework.trains:
        raise BadInputError(
            f"the plan cannot be exported to {framework.name}: {framework.title} does not train "
            f"{plan_file.model.architecture}, only {', '.join(framework.trains)}; the plan can be shown and reported"
        )
    texts = framework.write(converted(plan_file, framework), launcher)
    try:
        out_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInputError(f"output folder {out_dir}: cannot be made: {error.strerror}; give another -o") from None
    paths = {out_dir / name: text for name, text in texts.items()}
    for path in paths:
        files.check_writable(path, _is_exported, force=force)
    for path, text in paths.items():
        files.write_text(path, text)
        if path.suffix == ".sh":
            path.chmod(path.stat().st_mode | 0o111)
    return tuple(paths)


def converted(plan_file: PlanFile, framework: Framework) -> PlanFile:
    """`plan_file` for `framework`, with the prediction of its own stack where it was made for another.

    What only holds for the other framework (certificate, alternatives, baselines) is left out. Raises BadInputError
    with the rule that forbids the plan, or where it does not fit into memory.
    """
    stack = stacks.get(framework.stack_name(plan_file.cluster.device.kind))
    refusal = framework.refusal(plan_file.model, plan_file.workload, plan_file.plan)
    if refusal is not None:
        raise BadInputError(f"the plan cannot be exported to {framework.name}: {refusal.sentence}")
    made_for = plan_file.plan.framework
    if made_for == framework.name:
        return plan_file
    plan = plan_file.plan.model_copy(update={"framework": framework.name})
    prediction = predict(plan_file.model, plan_file.workload, plan_file.cluster, stack, plan, plan_file.profile)
    if isinstance(prediction, Infeasible):
        raise BadInputError(f"the plan cannot be exported to {framework.name}: {prediction.sentence}")
    if prediction.verdict is Verdict.DOES_NOT_FIT:
        raise BadInputError(
            f"the plan cannot be exported to {framework.name}: there it needs at least "
            f"{format_bytes(prediction.peak_memory_low_bytes)} of {format_bytes(prediction.memory_limit_bytes)}; "
            f"solve with --framework {framework.name}"
        )
    return plan_file.model_copy(
        update={
            "plan": plan,
            "stack": stack,
            "prediction": prediction,
            "certificate": None,
            "alternatives": (),
            "baselines": (),
            "refused": (),
            "sensitivities": (),
            "assumptions": (
                *plan_file.assumptions,
                f"The plan was chosen for {made_for} and taken over for {framework.name}, which may have a better one.",
            ),
        }
    )


def _is_exported(text: str) -> bool:
    """Whether `text` is of a file that an export writes."""
    return MARK in text or files.schema_of(text) == PlanFile.SCHEMA
