"""Pipeline schedules: one file each, listed here once. Simulator, executor and picture share their action lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from costmodel.schedules import gpipe, one_f_one_b
from costmodel.schedules.action import Action
from costmodel.schedules.simulate import simulate
from costmodel.schedules.timeline import TimedAction, Timeline
from costmodel.spec import Schedule


@dataclass(frozen=True)
class ScheduleKind:
    """What the program needs to know of a schedule."""

    order: Callable[[int, int], tuple[tuple[Action, ...], ...]]
    """(stages, micro-batches) -> actions of each rank."""
    in_flight: Callable[[int, int, int], int]
    """(stage, stages, micro-batches) -> micro-batches whose activations the stage holds at most."""
    lower_bound_s: Callable[[Sequence[float], Sequence[float], int, float], float]
    """(forward_s, backward_s, micro-batches, transfer_s) -> a bound that the simulated time never undercuts."""


SCHEDULES: Mapping[Schedule, ScheduleKind] = {
    Schedule.GPIPE: ScheduleKind(gpipe.order, gpipe.in_flight, gpipe.lower_bound_s),
    Schedule.ONE_F_ONE_B: ScheduleKind(one_f_one_b.order, one_f_one_b.in_flight, one_f_one_b.lower_bound_s),
}

__all__ = ["SCHEDULES", "Action", "ScheduleKind", "TimedAction", "Timeline", "simulate"]
