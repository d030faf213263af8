"""Turns the flags of `solve` and `check` into a `Job`, and says what was assumed where a flag is unset."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

from costmodel import stacks, units
from costmodel.capability import cautions
from costmodel.errors import BadInputError
from costmodel.spec import Block, ClusterSpec, Device, ModelSpec, Moe, NumberFormat, Precision, Profile, Workload
from planner.cli import loading
from planner.cli.layout import unsupported
from planner.cli.lengths import check_seq_len, default_seq_len
from planner.clusters.read import load_cluster, published_cluster
from planner.clusters.resize import check_num_gpus, extend_profile_cluster
from planner.documents import read_profile
from planner.files import sha256_of
from planner.frameworks import registry
from planner.frameworks.framework import Framework
from planner.job import ONLY_ONE, Job
from planner.models.read import read_model

DEFAULT_PROFILE = Path("profile.json")
SEQUENCES_PER_GPU = 8
"""Default global batch per GPU."""
MAX_GLOBAL_BATCH = 2**31


@dataclass(frozen=True)
class WorkloadFlags:
    """The workload flags; None where a flag is unset."""

    global_batch: int | None = None
    seq_len: int | None = None
    precision: str | None = None
    optimizer: str | None = None
    method: str | None = None


@dataclass(frozen=True)
class _Machine:
    cluster: ClusterSpec
    profile: Profile | None
    assumptions: tuple[str, ...]
    hashes: dict[str, str]


def build_job(
    gpus: int, model: str | None, cluster: str | None, profile: Path | None, framework: str, workload: WorkloadFlags
) -> Job:
    """The question that the flags ask.

    Raises BadInputError for a value that cannot be used, MissingError where a profile is needed and not there.
    """
    check_num_gpus(gpus)
    target = registry.get(framework)
    if profile is None and model is None and cluster is None:
        profile = DEFAULT_PROFILE
    machine = _machine(gpus, cluster, profile)
    hf_config, spec, model_assumptions, model_hash = _model(model, machine.profile)
    seq_len = _default_seq_len(spec, machine.profile) if workload.seq_len is None else workload.seq_len
    check_seq_len(seq_len, spec, hf_config, model)
    job_workload, defaults = _workload(gpus, seq_len, machine, workload, target)
    return Job(
        hf_config=hf_config,
        model=spec,
        workload=job_workload,
        cluster=machine.cluster,
        stack=stacks.get(target.stack_name(machine.cluster.device.kind)),
        profile=machine.profile,
        framework=target.name,
        assumptions=(
            *machine.assumptions,
            *model_assumptions,
            *cautions(spec),
            *_left_out(target, spec),
            *_unsaid(target, hf_config, spec, job_workload),
            *(_without_bf16(machine.cluster, target, job_workload) if "precision" in defaults else ()),
        ),
        defaults=defaults,
        input_hashes=machine.hashes | model_hash,
        cluster_of=partial(_cluster_of, cluster, profile),
    )


def _left_out(framework: Framework, model: ModelSpec) -> tuple[str, ...]:
    """What the plan does not cover: a class that the framework does not build, experts spread over ranks."""
    sentences = []
    if model.architecture not in framework.trains and not framework.refuses_other_classes:
        title = framework.title[0].upper() + framework.title[1:]
        sentences.append(
            f"{title} does not train {model.architecture} (it trains {', '.join(framework.trains)}), so the plan is "
            "priced only."
        )
    if any(isinstance(run.layer, Block) and isinstance(run.layer.feed_forward, Moe) for run in model.runs):
        sentences.append(
            "Experts are split by tensor parallelism alone: expert parallelism is not planned by this version (ep = 1)."
        )
    if model.mtp_runs:
        sentences.append(
            f"Layers of multi-token prediction ({units.format_count(model.params_mtp)} parameters) are neither in time "
            "nor in memory."
        )
    return tuple(sentences)


def _unsaid(framework: Framework, hf_config: dict[str, Any], model: ModelSpec, workload: Workload) -> tuple[str, ...]:
    """What keeps a model of a class that the framework trains from being exported to it, though it can be priced."""
    if model.architecture not in framework.trains:
        return ()
    try:
        framework.check_config(hf_config, model, workload)
    except BadInputError as error:
        return (f"This model cannot be exported to {framework.title}, so the plan is priced only: {error}.",)
    return ()


def _cluster_of(cluster: str | None, profile_path: Path | None, num_gpus: int) -> ClusterSpec | None:
    """The machine of the same flags with another number of GPUs; None where they describe none of that size."""
    try:
        return _machine(num_gpus, cluster, profile_path).cluster
    except BadInputError:
        return None


def _machine(gpus: int, cluster: str | None, profile_path: Path | None) -> _Machine:
    if profile_path is None:
        if cluster is None:
            raise BadInputError(
                "--cluster is missing: beside --model name a cluster with --cluster, "
                "or a machine that was measured with --profile"
            )
        loaded = load_cluster(cluster, gpus)
        return _Machine(loaded.spec, None, loaded.assumptions, {"cluster": loaded.sha256})
    profile = read_profile(profile_path)
    hashes = {"profile": sha256_of(profile_path, "profile")}
    measured = profile.cluster.device
    if cluster is None:
        spec, assumptions = extend_profile_cluster(profile.cluster, gpus, published_cluster(measured.name))
        return _Machine(spec, profile, assumptions, hashes)
    loaded = load_cluster(cluster, gpus)
    if loaded.spec.device.name != measured.name:
        raise BadInputError(
            f"--profile {profile_path} was measured on {measured.name}, but --cluster {cluster} has "
            f"{loaded.spec.device.name}; leave one of them out"
        )
    # The links are those of the cluster, the devices those that were measured.
    spec = loaded.spec.with_device(measured)
    return _Machine(spec, profile, loaded.assumptions, hashes | {"cluster": loaded.sha256})


def _model(
    model: str | None, profile: Profile | None
) -> tuple[dict[str, Any], ModelSpec, tuple[str, ...], dict[str, str]]:
    if model is None:
        if profile is None:
            raise BadInputError("--model is missing: beside --cluster name a preset or a config.json with --model")
        # Read again, so that a profile cannot hold layers that its config does not have.
        spec = read_model(profile.hf_config, "profile: hf_config", profile.model.name)
        return profile.hf_config, spec, spec.assumptions, {}
    loaded = loading.load(model)
    assumptions = loaded.spec.assumptions
    if profile is not None and not {sample.layer for sample in profile.layers} & set(loaded.spec.layers):
        assumptions = (
            f"No layer of {loaded.spec.name} was measured: the profile holds {profile.model.name}, whose layers scale "
            "those of the same kind, and the rates of its device.",
            *assumptions,
        )
    return loaded.hf_config, loaded.spec, assumptions, {"model": loaded.sha256}


def _workload(
    gpus: int, seq_len: int, machine: _Machine, flags: WorkloadFlags, framework: Framework
) -> tuple[Workload, dict[str, int | str]]:
    for flag, value in (("optimizer", flags.optimizer), ("method", flags.method)):
        if value not in (None, ONLY_ONE[flag]):
            raise BadInputError(unsupported(f"--{flag}", value, (ONLY_ONE[flag],)))
    global_batch = SEQUENCES_PER_GPU * gpus if flags.global_batch is None else flags.global_batch
    precision = check_precision(flags.precision or _default_precision(machine, framework), machine.cluster, framework)
    if not 1 <= global_batch <= MAX_GLOBAL_BATCH:
        raise BadInputError(
            f"--global-batch is {global_batch}, but must be a whole number from 1 to {MAX_GLOBAL_BATCH}"
        )
    workload = Workload(global_batch=global_batch, seq_len=seq_len, precision=precision)
    chosen = workload.model_dump(mode="json")
    return workload, {flag.name: chosen[flag.name] for flag in fields(flags) if getattr(flags, flag.name) is None}


def check_precision(precision: str, cluster: ClusterSpec, framework: Framework) -> Precision:
    """`precision` as a value that the device of `cluster` computes in and `framework` trains in.

    Raises BadInputError for another, which says what there is instead.
    """
    known = tuple(item.value for item in Precision)
    device = cluster.device
    if precision not in known and precision in list(NumberFormat):
        raise BadInputError(_not_planned(NumberFormat(precision), device, framework))
    if precision not in known:
        raise BadInputError(unsupported("--precision", precision, known))
    if Precision(precision) not in device.precisions:
        valid = ", ".join(device.precisions)
        offer = "; fp16 takes its place, with loss scaling" if _offers_fp16(precision, cluster) else ""
        trains = "" if not offer or Precision.FP16 in framework.precisions else ", which --framework megatron does"
        raise BadInputError(
            f"--precision is {precision}, but {device.name} does not compute in it; valid: {valid}{offer}{trains}"
        )
    if Precision(precision) not in framework.precisions:
        raise BadInputError(
            f"--precision is {precision}, but {framework.title} trains in {', '.join(framework.precisions)}; use one "
            f"of these, or a framework that has it: {', '.join(registry.with_precision(Precision(precision)))}"
        )
    return Precision(precision)


def _not_planned(number_format: NumberFormat, device: Device, framework: Framework) -> str:
    """The sentence for a format that hardware may have, but no job is planned in."""
    peak = device.peak_flop_per_s.get(number_format)
    has = "does not compute in it" if peak is None else f"has it, with a dense peak of {units.format_flop_rate(peak)}"
    valid = ", ".join(precision for precision in device.precisions if precision in framework.precisions)
    return f"--precision is {number_format}, which is not planned yet ({device.name} {has}); valid: {valid}"


def _offers_fp16(precision: str, cluster: ClusterSpec) -> bool:
    return precision == Precision.BF16.value and Precision.FP16 in cluster.device.precisions


def _without_bf16(cluster: ClusterSpec, framework: Framework, workload: Workload) -> tuple[str, ...]:
    """Why another precision than bf16 was taken where the device has none, and who trains in fp16."""
    if Precision.BF16 in cluster.device.precisions:
        return ()
    said = f"{cluster.device.name} does not compute in bf16, so {workload.precision.value} is taken"
    if Precision.FP16 in cluster.device.precisions and Precision.FP16 not in framework.precisions:
        trainers = " or ".join(registry.with_precision(Precision.FP16))
        said += f"; fp16, which it computes in, is what --framework {trainers} trains in, with loss scaling"
    return (f"{said}.",)


def _default_seq_len(model: ModelSpec, profile: Profile | None) -> int:
    """That of the profile of this very model; else the default of the model."""
    if profile is not None and profile.layers and profile.model == model and model.fixed_seq_len is None:
        return profile.layers[0].seq_len
    return default_seq_len(model)


def _default_precision(machine: _Machine, framework: Framework) -> str:
    """That of the profile; else the first of bf16, fp16 and fp32 that the device and the framework have."""
    if machine.profile is not None and machine.profile.layers:
        return machine.profile.layers[0].precision.value
    usable = [precision for precision in machine.cluster.device.precisions if precision in framework.precisions]
    return (usable or [Precision.FP32])[0].value
