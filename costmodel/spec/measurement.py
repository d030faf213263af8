"""Measurement: what a training run showed."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, computed_field, model_validator

from costmodel.spec.base import Document
from costmodel.spec.profile import Provenance


class Measurement(Document):
    """Step times, losses and memory peaks of one run, and the plan and prediction it belongs to."""

    SCHEMA: ClassVar[str] = "measurement/1"

    plan_id: str
    question_id: str
    """`PlanFile.question_id` of the plan file that was run."""
    seed: int
    losses: tuple[float, ...] = Field(min_length=1)
    """Mean loss over the global batch, one per step."""
    step_times_s: tuple[Annotated[float, Field(gt=0)], ...]
    """Slowest rank, one per step, warm-up steps included."""
    num_warmup_steps: int = Field(ge=0)
    """Steps at the start that the median leaves out."""
    step_time_median_s: float = Field(gt=0)
    peak_memory_bytes: tuple[Annotated[int, Field(ge=0)], ...] = Field(min_length=1)
    """One per rank, as `memory_counter` counts it."""
    memory_counter: str
    """`allocated` (CUDA caching allocator) or `resident` (growth of the process since before the model was built)."""
    predicted_step_time_s: float = Field(gt=0)
    predicted_step_time_low_s: float = Field(gt=0)
    predicted_step_time_high_s: float = Field(gt=0)
    predicted_peak_memory_bytes: int = Field(gt=0)
    provenance: Provenance

    @computed_field  # type: ignore[prop-decorator]
    @property
    def within_interval(self) -> bool:
        """Whether the median lies in the predicted interval."""
        return self.predicted_step_time_low_s <= self.step_time_median_s <= self.predicted_step_time_high_s

    @model_validator(mode="before")
    @classmethod
    def _leave_out_verdict(cls, data: Any) -> Any:
        """A file states the verdict for its readers; here it follows from the times."""
        if not isinstance(data, dict):
            return data
        return {key: value for key, value in data.items() if key != "within_interval"}

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len(self.losses) != len(self.step_times_s):
            raise ValueError(f"{len(self.losses)} losses but {len(self.step_times_s)} step times")
        if self.num_warmup_steps >= len(self.step_times_s):
            raise ValueError(f"num_warmup_steps {self.num_warmup_steps} leaves none of {len(self.losses)} steps")
        return self
