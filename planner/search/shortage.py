"""How far a plan is from fitting: the stage, the moment, the largest item at that moment, and the bytes missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from costmodel.spec import Infeasible, MemoryItem, Plan, Prediction, StageMemory
from costmodel.units import format_bytes


@dataclass(frozen=True)
class Moment:
    """One of the moments where a peak can lie, in words."""

    words: str
    of_stage: Callable[[StageMemory], int]
    of_item: Callable[[MemoryItem], int]


MOMENTS = (
    Moment("in a training step", lambda stage: stage.steady_bytes, lambda item: item.steady_bytes),
    Moment("in the first optimizer step", lambda stage: stage.first_step_bytes, lambda item: item.first_step_bytes),
    Moment(
        "while a checkpoint is written or read",
        lambda stage: stage.checkpoint_bytes,
        lambda item: item.checkpoint_bytes,
    ),
)
"""In the order of `StageMemory`; the first of equal peaks is named."""


def memory_shortage(plan: Plan, prediction: Prediction, *, allow_tight: bool = False) -> Infeasible:
    """Why `plan` does not fit, on the stage with the highest peak.

    `missing_bytes` is what the peak lacks under the rule in force: its upper bound may not exceed the limit, or with
    `allow_tight` its lower bound.
    """
    stage = prediction.stages[prediction.peak_stage]
    moment = max(MOMENTS, key=lambda moment: moment.of_stage(stage))
    largest = max(stage.items, key=moment.of_item)
    needed_bytes = prediction.peak_memory_low_bytes if allow_tight else prediction.peak_memory_high_bytes
    limit_bytes = prediction.memory_limit_bytes
    missing_bytes = max(0, needed_bytes - limit_bytes)
    return Infeasible(
        rule="memory",
        sentence=f"{describe(plan)} needs {'at least' if allow_tight else 'up to'} {format_bytes(needed_bytes)} on "
        f"stage {stage.stage} {moment.words}, of which {largest.name}: "
        f"{format_bytes(moment.of_item(largest))}, but a process may allocate {format_bytes(limit_bytes)}: "
        f"{format_bytes(missing_bytes)} are missing",
        needed=needed_bytes,
        limit=limit_bytes,
        stage=stage.stage,
        missing_bytes=missing_bytes,
    )


def describe(plan: Plan) -> str:
    """A plan in half a sentence."""
    return (
        f"tp {plan.tp} x pp {plan.pp} x dp {plan.dp} with ZeRO-{plan.zero}, micro-batch {plan.micro_batch}, "
        f"recompute {plan.recompute}"
    )
