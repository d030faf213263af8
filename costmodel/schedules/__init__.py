"""Pipeline schedules: one file each, listed here once. Simulator, executor and picture share their action lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from costmodel.schedules import gpipe, one_f_one_b
from costmodel.schedules.action import Action
from costmodel.schedules.bounds import BoundRow, lower_bound_s
from costmodel.schedules.passes import Passes
from costmodel.schedules.simulate import PassTimes, run_passes, simulate
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


@lru_cache(maxsize=8)
def passes_of(schedule: Schedule, num_stages: int, num_microbatches: int) -> Passes:
    """The passes of a schedule. Kept, since a search prices hundreds of stage cuts of one mesh; few, since each is
    large."""
    return Passes.of(SCHEDULES[schedule].order(num_stages, num_microbatches))


__all__ = [
    "SCHEDULES",
    "Action",
    "BoundRow",
    "PassTimes",
    "Passes",
    "ScheduleKind",
    "TimedAction",
    "Timeline",
    "lower_bound_s",
    "passes_of",
    "run_passes",
    "simulate",
]
