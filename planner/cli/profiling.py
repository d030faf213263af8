"""Measures a model on this machine: what `profile` and `demo` share."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version

from costmodel.errors import BadInputError
from costmodel.spec import DeviceKind, Precision, Profile
from planner.cli.console import OnProgress, note
from planner.cli.device import default_precision, published_device, tensor_degrees
from planner.cli.lengths import check_seq_len, default_seq_len
from planner.cli.question import SEQUENCES_PER_GPU
from planner.models.read import LoadedModel


@dataclass(frozen=True)
class ProfileChoices:
    """How a machine is measured."""

    kind: DeviceKind
    num_ranks: int
    seq_len: int
    precision: Precision
    budget_s: float | None = None
    """Seconds for the repeated measurements; None leaves it to the profiler."""


def choose(
    model: LoadedModel, named: str, kind: DeviceKind, num_ranks: int, seq_len: int | None, precision: str | None
) -> ProfileChoices:
    """The choices for a profile, with defaults for those that are None; raises BadInputError for a bad value.

    `named` is what the user called the model.
    """
    seq_len = default_seq_len(model.spec) if seq_len is None else seq_len
    check_seq_len(seq_len, model.spec, model.hf_config, named)
    known = tuple(item.value for item in Precision if kind is DeviceKind.CUDA or item is not Precision.FP16)
    if precision is not None and precision not in known:
        raise BadInputError(f"--precision is {precision}, but must be one of {', '.join(known)}")
    chosen = default_precision(kind, num_ranks) if precision is None else Precision(precision)
    return ProfileChoices(kind, num_ranks, seq_len, chosen)


def measure_here(model: LoadedModel, choices: ProfileChoices, on_progress: OnProgress) -> Profile:
    """Measure `model` on `choices.num_ranks` ranks of this machine."""
    from executor.memory import keep_freed_memory
    from executor.profiled import ProfiledLayers
    from executor.ranks import run_ranks, send_to_parent
    from profiler.contract import ProfileRequest
    from profiler.measure import measure

    request = ProfileRequest(
        hf_config=model.hf_config,
        model=model.spec,
        device=choices.kind.value,
        num_ranks=choices.num_ranks,
        micro_batches=micro_batches(),
        seq_len=choices.seq_len,
        precision=choices.precision,
        tp_degrees=tensor_degrees(model.spec, choices.num_ranks),
        published=published_device(choices.kind),
        versions={name: version(name) for name in ("parallelism-planner", "transformers")},
        **({} if choices.budget_s is None else {"budget_s": choices.budget_s}),
    )
    return measure(
        request,
        ProfiledLayers(model.hf_config),
        run_ranks,
        on_progress,
        notify=note,
        send_to_parent=send_to_parent,
        prepare_rank=keep_freed_memory,
    )


def micro_batches() -> tuple[int, ...]:
    """Powers of two up to the share of one rank in the default global batch."""
    return tuple(1 << power for power in range(SEQUENCES_PER_GPU.bit_length()))
