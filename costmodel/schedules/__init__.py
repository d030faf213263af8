"""Pipeline schedules: one file each, listed here once. Simulator, executor and picture share their action lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from costmodel.schedules import gpipe, interleaved, one_f_one_b
from costmodel.schedules.action import Action
from costmodel.schedules.bounds import BoundRow, lower_bound_s
from costmodel.schedules.passes import Passes
from costmodel.schedules.simulate import PassTimes, run_passes, simulate
from costmodel.schedules.timeline import TimedAction, Timeline
from costmodel.spec import Schedule


@dataclass(frozen=True)
class ScheduleKind:
    """What the program needs to know of a schedule."""

    order: Callable[..., tuple[tuple[Action, ...], ...]]
    """(ranks, micro-batches, chunks of a rank) -> actions of each rank; chunks only where it has them."""
    in_flight: Callable[..., int]
    """(stage, ranks, micro-batches, weights) -> micro-batches whose activations the stage holds when its rank holds
    most; weights of a micro-batch in each chunk only where it has them."""
    bound_rows: Callable[..., tuple[BoundRow, ...]]
    """(ranks, micro-batches, chunks) -> rows that the simulated time never undercuts."""
    any_cut_bound_s: Callable[..., float]
    """(total_s, bottleneck_s, ranks, micro-batches) -> what no stage cut undercuts, transfers left out."""
    has_chunks: bool = False
    """Whether a rank may hold several stages."""


SCHEDULES: Mapping[Schedule, ScheduleKind] = {
    Schedule.GPIPE: ScheduleKind(gpipe.order, gpipe.in_flight, gpipe.bound_rows, gpipe.any_cut_bound_s),
    Schedule.ONE_F_ONE_B: ScheduleKind(
        one_f_one_b.order, one_f_one_b.in_flight, one_f_one_b.bound_rows, one_f_one_b.any_cut_bound_s
    ),
    Schedule.INTERLEAVED: ScheduleKind(
        interleaved.order, interleaved.in_flight, interleaved.bound_rows, interleaved.any_cut_bound_s, has_chunks=True
    ),
}


ONE_STAGE_A_RANK = tuple(schedule for schedule, kind in SCHEDULES.items() if not kind.has_chunks)


def order_of(
    schedule: Schedule, num_ranks: int, num_microbatches: int, num_chunks: int = 1
) -> tuple[tuple[Action, ...], ...]:
    """Actions of each rank; several chunks of a rank only in a schedule that has them."""
    chunks = (num_chunks,) if SCHEDULES[schedule].has_chunks else ()
    return SCHEDULES[schedule].order(num_ranks, num_microbatches, *chunks)


@lru_cache(maxsize=8)
def passes_of(schedule: Schedule, num_ranks: int, num_microbatches: int, num_chunks: int = 1) -> Passes:
    """The passes of a schedule. Kept, since a search prices hundreds of stage cuts of one mesh; few, since each is
    large."""
    return Passes.of(order_of(schedule, num_ranks, num_microbatches, num_chunks))


def in_flight(
    schedule: Schedule, stage: int, num_ranks: int, num_microbatches: int, weights: Sequence[float] = (1,)
) -> int:
    """Micro-batches whose activations a stage holds when its rank holds most; one where there is no pipeline.

    `weights` holds what a micro-batch takes in each chunk of the rank, in any unit.
    """
    if num_ranks == 1 and len(weights) == 1:
        return 1
    chunks = (weights,) if SCHEDULES[schedule].has_chunks else ()
    return SCHEDULES[schedule].in_flight(stage, num_ranks, num_microbatches, *chunks)


__all__ = [
    "ONE_STAGE_A_RANK",
    "SCHEDULES",
    "Action",
    "BoundRow",
    "PassTimes",
    "Passes",
    "ScheduleKind",
    "TimedAction",
    "Timeline",
    "in_flight",
    "lower_bound_s",
    "order_of",
    "passes_of",
    "run_passes",
    "simulate",
]
