"""Plans, profiles and measurements as files: read with all that must hold between their parts, written whole."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TypeVar

from costmodel.errors import BadInputError, MissingError
from costmodel.feasibility import contradiction
from costmodel.model_flop import model_flop_per_step
from costmodel.setting import Setting
from costmodel.spec import Document, Measurement, PlanFile, Prediction, Profile
from planner.files import ANOTHER_OUTPUT, check_writable, is_there, read_text, schema_of, write_text
from planner.models.agreement import check_agreement

DocumentType = TypeVar("DocumentType", bound=Document)


def read_document(path: Path, kind: type[DocumentType], what: str) -> DocumentType:
    """One value of `kind` from the JSON file `path`; raises BadInputError for anything else."""
    return kind.from_json(read_text(path, what), f"{what} {path}")


SAME_RATE_FRAC = 0.01
"""How far tokens a second may lie from tokens a step over its time: rounding, but no other workload."""


def read_plan_file(path: Path) -> PlanFile:
    """The answer of `solve` or `check` in `path`.

    Raises BadInputError, also where the model is not that of the config beside it, a prediction is of another plan
    or workload, or a plan cannot be one of the model, batch and cluster beside it.
    """
    file = read_document(path, PlanFile, "plan file")
    check_agreement(file.hf_config, file.model, f"plan file {path}")
    setting = Setting(file.model, file.workload, file.cluster, file.stack, file.profile)
    wrong = contradiction(setting, file.plan)
    if wrong is not None:
        raise BadInputError(f"plan file {path}: {wrong.sentence}; make it anew with `planner solve`")
    prediction = file.prediction
    rate = file.workload.tokens_per_step / prediction.step_time_s / file.plan.num_ranks
    if not math.isclose(rate, prediction.tokens_per_s_per_gpu, rel_tol=SAME_RATE_FRAC):
        raise BadInputError(
            f"plan file {path}: workload and prediction do not belong together: {file.workload.tokens_per_step} tokens "
            f"a step in {prediction.step_time_s:g} s on {file.plan.num_ranks} ranks are {rate:.6g} tokens a second and "
            f"rank, but tokens_per_s_per_gpu is {prediction.tokens_per_s_per_gpu:.6g}; solve again"
        )
    _check_mfu(file, prediction, f"plan file {path}: prediction")
    _check_others(file, setting, f"plan file {path}")
    return file


def _check_others(file: PlanFile, setting: Setting, where: str) -> None:
    """Raise BadInputError where a plan beside the answer cannot be one of the same cluster, model and batch."""
    priced = {
        f"alternatives[{number}]": (other.plan, other.prediction) for number, other in enumerate(file.alternatives)
    }
    for number, baseline in enumerate(file.baselines):
        if baseline.plan is not None and baseline.prediction is not None:
            priced[f"baselines[{number}]"] = (baseline.plan, baseline.prediction)
    for place, (plan, prediction) in priced.items():
        wrong = contradiction(setting, plan)
        if wrong is not None:
            raise BadInputError(f"{where}: {place}.plan: {wrong.sentence}; make it anew with `planner solve`")
        _check_mfu(file, prediction, f"{where}: {place}.prediction")
    devices = file.cluster.num_devices
    for number, refused in enumerate(file.refused):
        if refused.plan.num_ranks != devices:
            raise BadInputError(
                f"{where}: refused[{number}].plan has {refused.plan.num_ranks} ranks, but the cluster has {devices} "
                "devices; make it anew with `planner solve`"
            )


def _check_mfu(file: PlanFile, prediction: Prediction, where: str) -> None:
    """Raise BadInputError where the share of the peak is not that of the step time."""
    peak_flop_per_s = file.cluster.device.peak_in(file.workload.precision) * file.cluster.num_devices
    mfu_frac = model_flop_per_step(file.model, file.workload) / (prediction.step_time_s * peak_flop_per_s)
    if not math.isclose(mfu_frac, prediction.mfu_frac, rel_tol=SAME_RATE_FRAC):
        raise BadInputError(
            f"{where}: mfu_frac is {prediction.mfu_frac:.4g}, but the FLOP of the model in {prediction.step_time_s:g} "
            f"s at the peak of {file.cluster.num_devices} devices make it {mfu_frac:.4g}; solve again"
        )


def read_measurement(path: Path) -> Measurement:
    """What a run showed; raises BadInputError."""
    return read_document(path, Measurement, "measurement")


def read_profile(path: Path) -> Profile:
    """What was measured on a machine.

    Raises MissingError where there is no such file, since `planner profile` makes one; BadInputError for a faulty one,
    also where the model is not that of the config beside it.
    """
    if not is_there(path, "profile"):
        raise MissingError(
            f"profile {path}: no such file; measure this machine with `planner profile -o {path}`, "
            "or name a model and a cluster with --model and --cluster"
        )
    profile = read_document(path, Profile, "profile")
    check_agreement(profile.hf_config, profile.model, f"profile {path}")
    return profile


def check_document_writable(path: Path, kind: type[Document], *, force: bool, remedy: str = ANOTHER_OUTPUT) -> None:
    """`check_writable` for a document: only a file of the same schema may be replaced, in whatever version."""
    name = kind.SCHEMA.partition("/")[0]
    check_writable(path, lambda text: (schema_of(text) or "").partition("/")[0] == name, force=force, remedy=remedy)


def write_document(path: Path, document: Document, *, force: bool = False) -> None:
    """Write `document` as JSON; a file of another schema is not overwritten without `force` (BadInputError)."""
    check_document_writable(path, type(document), force=force)
    write_text(path, document.to_json())
