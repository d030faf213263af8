"""Prediction: what a plan costs in time and memory, with bounds and sources; and Infeasible, the other outcome."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Self

from pydantic import Field, model_validator

from costmodel.spec.base import Document, Source, Spec
from costmodel.spec.plan import Plan


class Verdict(StrEnum):
    """Whether the plan fits into memory."""

    FITS = "FITS"
    """The upper bound of the peak is within the limit."""
    TIGHT = "TIGHT"
    """The limit lies between the bounds."""
    DOES_NOT_FIT = "DOES_NOT_FIT"
    """Even the lower bound is above the limit."""


class TimeTerm(Spec):
    """A share of the step time, on the rank that decides it."""

    name: str
    time_s: float = Field(ge=0)
    source: Source
    note: str = ""


class MemoryItem(Spec):
    """One kind of memory of one rank of a stage, at the three moments where a peak can lie."""

    name: str
    steady_bytes: int = Field(ge=0)
    """While forward and backward run, once the optimizer has its state."""
    first_step_bytes: int = Field(ge=0)
    """While the optimizer steps for the first time and allocates its state."""
    checkpoint_bytes: int = Field(ge=0)
    """While a checkpoint is written or read back."""
    source: Source


class StageMemory(Spec):
    """Memory of one rank of one pipeline stage."""

    stage: int = Field(ge=0)
    items: tuple[MemoryItem, ...]

    @property
    def steady_bytes(self) -> int:
        """Peak while training."""
        return sum(item.steady_bytes for item in self.items)

    @property
    def first_step_bytes(self) -> int:
        """Peak of the first optimizer step."""
        return sum(item.first_step_bytes for item in self.items)

    @property
    def checkpoint_bytes(self) -> int:
        """Peak of saving or resuming."""
        return sum(item.checkpoint_bytes for item in self.items)

    @property
    def peak_bytes(self) -> int:
        """The highest of the three."""
        return max(self.steady_bytes, self.first_step_bytes, self.checkpoint_bytes)


class Prediction(Document):
    """What `predict` returns for a plan that can be expressed; whether it fits stands in `verdict`."""

    SCHEMA: ClassVar[str] = "prediction/1"

    plan_id: str
    step_time_s: float = Field(gt=0)
    step_time_low_s: float = Field(gt=0)
    step_time_high_s: float = Field(gt=0)
    tokens_per_s_per_gpu: float = Field(gt=0)
    mfu_frac: float = Field(ge=0)
    """Model FLOP (recompute not counted, causal attention halved) over the dense peak of the precision."""
    bubble_frac: float = Field(ge=0, lt=1)
    """Share of the step in which the deciding rank waits for the pipeline."""
    terms: tuple[TimeTerm, ...]
    """Shares of the step time; they add up to it."""
    stages: tuple[StageMemory, ...]
    peak_memory_bytes: int = Field(gt=0)
    peak_memory_low_bytes: int = Field(gt=0)
    peak_memory_high_bytes: int = Field(gt=0)
    peak_stage: int = Field(ge=0)
    memory_limit_bytes: int = Field(gt=0)
    verdict: Verdict
    source: Source
    """The worst source of any term that matters."""
    interval_note: str
    """What the bounds rest on."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        for low, value, high in (
            (self.step_time_low_s, self.step_time_s, self.step_time_high_s),
            (self.peak_memory_low_bytes, self.peak_memory_bytes, self.peak_memory_high_bytes),
        ):
            if not low <= value <= high:
                raise ValueError(f"{value:g} does not lie between its bounds {low:g} and {high:g}")
        return self


class Infeasible(Document):
    """Why a plan cannot be, as a value: the rule, in numbers where there are numbers."""

    SCHEMA: ClassVar[str] = "infeasible/1"

    rule: str
    """Short name of the rule, e.g. `heads_divide`."""
    sentence: str
    """What, where, the value, and what would do."""
    needed: float | None = Field(default=None, ge=0)
    limit: float | None = Field(default=None, ge=0)
    stage: int | None = Field(default=None, ge=0)
    missing_bytes: int | None = Field(default=None, ge=0)
    nearest: Plan | None = None
    """The nearest plan that works, where the search looked for one."""
