"""Plan: every decision about how a job is laid out on its ranks."""

from __future__ import annotations

import itertools
import math
from enum import StrEnum
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from costmodel.spec.base import Document, fingerprint

AXES = ("tp", "cp", "dp", "pp")
"""Mesh axes from the innermost (neighbouring ranks) to the outermost; the order Megatron-Core uses."""


class Schedule(StrEnum):
    """Order of forward and backward passes of a pipeline."""

    GPIPE = "gpipe"
    ONE_F_ONE_B = "1f1b"
    INTERLEAVED = "interleaved"


class Recompute(StrEnum):
    """What of a layer is computed again in backward instead of being kept."""

    NONE = "none"
    FULL = "full"


class Plan(Document):
    """Degrees, batch split, schedule, stage cut, recompute and ZeRO stage of one job.

    `cut` holds the number of layers of each of the pp x vpp pipeline stages over the whole layer sequence (embedding
    and head included), `recompute_layers` one mode for each of these layers. Rank r has tensor index r % tp, then cp,
    dp and pp.
    """

    SCHEMA: ClassVar[str] = "plan/1"
    UNNAMED_DEFAULTS: ClassVar[frozenset[str]] = frozenset({"sp", "etp"})
    """Fields that tell plans apart only where they differ from their default: files were written without them."""

    framework: str = Field(min_length=1)
    tp: int = Field(default=1, ge=1)
    sp: bool = True
    """Whether tensor-parallel ranks split the sequence where each would else hold all of it (arXiv 2205.05198); true
    for one rank."""
    cp: int = Field(default=1, ge=1)
    ep: int = Field(default=1, ge=1)
    """Expert parallelism, inside tp x cp x dp."""
    etp: int | None = Field(default=None, ge=1)
    """Ranks over which the columns of each routed expert are split; None for as many as `tp`."""
    pp: int = Field(default=1, ge=1)
    vpp: int = Field(default=1, ge=1)
    """Stages of each pipeline rank: stage s is on rank s % pp."""
    dp: int = Field(default=1, ge=1)
    zero: Literal[0, 1, 2, 3] = 0
    micro_batch: int = Field(default=1, ge=1)
    schedule: Schedule = Schedule.ONE_F_ONE_B
    cut: tuple[int, ...]
    recompute_layers: tuple[Recompute, ...]

    @field_validator("sp")
    @classmethod
    def _split_of_one(cls, value: bool, info: ValidationInfo) -> bool:
        # One rank has the whole sequence either way; one name keeps equal plans equal.
        return value or info.data.get("tp") == 1

    @field_validator("etp")
    @classmethod
    def _split_as_the_rest(cls, value: int | None, info: ValidationInfo) -> int | None:
        return None if value == info.data.get("tp") else value

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len(self.cut) != self.pp * self.vpp:
            raise ValueError(f"cut has {len(self.cut)} stages but pp x vpp is {self.pp * self.vpp}")
        if min(self.cut) < 1:
            raise ValueError(f"cut {self.cut} has a stage without layers")
        if sum(self.cut) != len(self.recompute_layers):
            raise ValueError(f"cut holds {sum(self.cut)} layers, recompute_layers {len(self.recompute_layers)}")
        return self

    @property
    def num_ranks(self) -> int:
        """Ranks the plan runs on."""
        return self.tp * self.cp * self.pp * self.dp

    @property
    def recompute(self) -> str:
        """`none`, `full`, or `mixed` where layers differ (the first and the last layer are never recomputed)."""
        modes = {str(mode) for mode in self.recompute_layers[1:-1]}
        if not modes:
            return Recompute.NONE.value
        return modes.pop() if len(modes) == 1 else "mixed"

    @cached_property
    def stages(self) -> tuple[range, ...]:
        """Layer numbers of each stage."""
        starts = [sum(self.cut[:index]) for index in range(len(self.cut) + 1)]
        return tuple(range(start, stop) for start, stop in itertools.pairwise(starts))

    def num_microbatches(self, global_batch: int) -> int:
        """Micro-batches per step and data-parallel rank. Raises ValueError where the batch does not divide."""
        size = self.micro_batch * self.dp
        if global_batch % size:
            raise ValueError(
                f"global batch {global_batch} is not a multiple of micro-batch {self.micro_batch} x dp {self.dp}"
            )
        return global_batch // size

    def stride(self, axis: str) -> int:
        """Distance in ranks between neighbours along `axis`."""
        return math.prod(getattr(self, inner) for inner in AXES[: AXES.index(axis)])

    @property
    def identity(self) -> dict[str, Any]:
        """The JSON that tells plans apart, the same for plans of files that lack `UNNAMED_DEFAULTS`."""
        fields = type(self).model_fields
        plain = {name for name in self.UNNAMED_DEFAULTS if getattr(self, name) == fields[name].default}
        return self.model_dump(mode="json", exclude=plain)

    @property
    def plan_id(self) -> str:
        """Hash of the canonical JSON of `identity`: equal plans have equal ids."""
        return fingerprint(self.identity)
