"""Runs a schedule's passes on given pass times: the exact time of the pipeline, without formulas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from costmodel.schedules.action import Action
from costmodel.schedules.passes import Passes
from costmodel.schedules.timeline import TimedAction, Timeline


@dataclass(frozen=True)
class PassTimes:
    """When each pass of a sequence starts and ends."""

    starts_s: list[float]
    ends_s: list[float]


def run_passes(
    passes: Passes,
    forward_s: Sequence[float],
    backward_s: Sequence[float],
    transfer_s: float = 0.0,
    release_s: Sequence[float] | None = None,
) -> PassTimes:
    """The times of `passes` where each rank works off its list as soon as its inputs are there.

    `forward_s[s]` and `backward_s[s]` are the pass times of stage s. A pass waits for its neighbour stage plus one
    transfer of `transfer_s` (which costs the ranks no compute) where the neighbour is on another rank, and for
    `release_s[r]` (the start of rank r).
    """
    work_s = [*forward_s, *backward_s]
    clock_s = list(release_s) if release_s is not None else [0.0] * passes.num_ranks
    starts_s: list[float] = []
    ends_s: list[float] = []
    for rank, work, needed, hops in passes.steps:
        start_s = clock_s[rank]
        if needed is not None:
            arrival_s = ends_s[needed] + transfer_s if hops else ends_s[needed]
            if arrival_s > start_s:
                start_s = arrival_s
        clock_s[rank] = end_s = start_s + work_s[work]
        starts_s.append(start_s)
        ends_s.append(end_s)
    return PassTimes(starts_s, ends_s)


def simulate(
    ranks: Sequence[Sequence[Action]],
    forward_s: Sequence[float],
    backward_s: Sequence[float],
    transfer_s: float = 0.0,
    release_s: Sequence[float] | None = None,
) -> Timeline:
    """The timeline of `ranks`, the actions of each pipeline rank, with the times of `run_passes`.

    Raises ValueError for lists that wait for each other.
    """
    passes = Passes.of(ranks)
    times = run_passes(passes, forward_s, backward_s, transfer_s, release_s)
    timed: list[list[TimedAction]] = [[] for _ in ranks]
    for step, start_s, end_s in zip(passes.steps, times.starts_s, times.ends_s, strict=True):
        action = ranks[step.rank][len(timed[step.rank])]
        timed[step.rank].append(TimedAction(step.rank, action.stage, action.kind, action.microbatch, start_s, end_s))
    return Timeline(len(ranks), tuple(action for rank in timed for action in rank), max(times.ends_s))
