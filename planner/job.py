"""The question that `solve` and `check` answer: one job on one machine, and the layout choices the user fixed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

from costmodel.schedules import ONE_STAGE_A_RANK
from costmodel.setting import Setting
from costmodel.spec import (
    ClusterSpec,
    Infeasible,
    ModelSpec,
    PlanFile,
    Profile,
    Schedule,
    SoftwareStack,
    Workload,
)

ONLY_ONE = {"cp": 1, "ep": 1, "vpp": 1, "optimizer": "adamw", "method": "pretrain"}
"""Flags with a single value in this version, so that nothing was chosen where they are left out."""


PLANNED_SCHEDULES = ONE_STAGE_A_RANK
"""Schedules that are searched and handed to frameworks; more are priced."""


def no_other_size(num_gpus: int) -> ClusterSpec | None:  # noqa: ARG001
    """For a cluster whose size cannot change."""
    return None


@dataclass(frozen=True)
class Job:
    """Everything a prediction needs apart from the plan, with what was assumed and the hashes of what was read."""

    hf_config: dict[str, Any]
    model: ModelSpec
    workload: Workload
    cluster: ClusterSpec
    stack: SoftwareStack
    profile: Profile | None
    framework: str
    assumptions: tuple[str, ...]
    """Sentences on what nobody said or measured, e.g. that the link between nodes is a default."""
    input_hashes: dict[str, str]
    cluster_of: Callable[[int], ClusterSpec | None] = no_other_size
    """The same kind of cluster with another number of GPUs; None where there is none."""
    defaults: dict[str, int | str] = field(default_factory=dict)
    """Values that filled flags left out, by the name of the flag, e.g. `micro_batch`."""

    @property
    def first_line(self) -> tuple[str, ...]:
        """Sentences for the first line of the answer: the defaults that could be other ones, then the assumptions."""
        chosen = {name: value for name, value in self.defaults.items() if name not in ONLY_ONE}
        if not chosen:
            return self.assumptions
        flags = ", ".join(f"--{name.replace('_', '-')} {value}" for name, value in chosen.items())
        return (f"Defaults: {flags}.", *self.assumptions)


def setting_of(job: Job) -> Setting:
    """What the cost model looks at."""
    return Setting(job.model, job.workload, job.cluster, job.stack, job.profile)


@dataclass(frozen=True)
class Layout:
    """The layout flags of the command line; None leaves the choice open (`solve`) or to the framework (`check`)."""

    tp: int | None = None
    cp: int | None = None
    ep: int | None = None
    pp: int | None = None
    vpp: int | None = None
    dp: int | None = None
    zero: int | None = None
    micro_batch: int | None = None
    schedule: Schedule | None = None
    recompute: str | None = None

    def fixed(self) -> dict[str, Any]:
        """The choices that are made, by name."""
        return {choice.name: value for choice in fields(self) if (value := getattr(self, choice.name)) is not None}


@dataclass(frozen=True)
class Answer:
    """What `solve` and `check` return.

    `plan_file` is absent where no plan could even be priced; `infeasible` says why nothing fits or which rule
    forbids the layout. `check` of a layout that is priced but does not fit sets both.
    """

    plan_file: PlanFile | None
    infeasible: Infeasible | None
