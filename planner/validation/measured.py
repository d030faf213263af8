"""Measured: what a published run came to, and how it counts. Only scores look at it, never a prediction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError

from costmodel.spec import Spec
from costmodel.spec.faults import fault
from planner.validation.unsaid import Unsaid, faulty

GIB = 2**30


class Measured(Spec):
    """The result columns of one run."""

    step_time_s: Annotated[float, Field(gt=0, le=1e6)] | None = None
    peak_mem_gb: Annotated[float, Field(gt=0, le=1e5)] | None = None
    """In GiB."""
    use_time: bool = False
    """Whether configuration and step time are complete and consistent."""
    use_memory: bool = False
    outcome: Literal["ran", "oom"] = "ran"

    @classmethod
    def from_cells(cls, cells: Mapping[str, str]) -> Self | Unsaid:
        """The results in a row's `cells`; or the first cell that is at fault."""
        data = {name: cells[name].strip() for name in cls.model_fields if cells.get(name, "").strip()}
        try:
            found = cls.model_validate(data)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            return faulty(fault(first, str(first["loc"][0])))
        if found.use_time and found.step_time_s is None:
            return faulty("use_time is 1, but step_time_s is missing")
        if found.use_memory and found.peak_mem_gb is None:
            return faulty("use_memory is 1, but peak_mem_gb is missing")
        return found

    @property
    def peak_bytes(self) -> float:
        """The measured peak; raises ValueError where there is none."""
        if self.peak_mem_gb is None:
            raise ValueError("no peak was measured")
        return self.peak_mem_gb * GIB
