"""Timeline: when each action of a pipeline starts and ends. The picture of the report and the step time share it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TimedAction:
    """One pass of one micro-batch through one stage; `rank` is the pipeline rank, `kind` is F or B."""

    rank: int
    stage: int
    kind: str
    microbatch: int
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Timeline:
    """All actions of one step, rank by rank in the order they run."""

    num_ranks: int
    actions: tuple[TimedAction, ...]
    end_s: float
    """End of the last action, before the gradients are reduced and the optimizer steps."""
