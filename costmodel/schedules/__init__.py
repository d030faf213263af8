"""Pipeline schedules: one file each, listed here once. Simulator, executor and picture share their action lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from costmodel.schedules import gpipe, one_f_one_b
from costmodel.schedules.action import Action
from costmodel.schedules.bounds import BoundRow, lower_bound_s
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
    bound_rows: Callable[[int, int], tuple[BoundRow, ...]]
    """(stages, micro-batches) -> rows that the simulated time never undercuts."""
    any_cut_bound_s: Callable[[float, float, int, int], float]
    """(total_s, bottleneck_s, stages, micro-batches) -> what no stage cut undercuts, transfers left out."""


SCHEDULES: Mapping[Schedule, ScheduleKind] = {
    Schedule.GPIPE: ScheduleKind(gpipe.order, gpipe.in_flight, gpipe.bound_rows, gpipe.any_cut_bound_s),
    Schedule.ONE_F_ONE_B: ScheduleKind(
        one_f_one_b.order, one_f_one_b.in_flight, one_f_one_b.bound_rows, one_f_one_b.any_cut_bound_s
    ),
}

__all__ = ["SCHEDULES", "Action", "BoundRow", "ScheduleKind", "TimedAction", "Timeline", "lower_bound_s", "simulate"]
