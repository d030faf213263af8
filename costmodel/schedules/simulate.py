"""Runs a schedule's action lists on given pass times: the exact time of the pipeline, without formulas."""

from __future__ import annotations

from collections.abc import Sequence

from costmodel.schedules.action import Action
from costmodel.schedules.timeline import TimedAction, Timeline


def simulate(
    ranks: Sequence[Sequence[Action]],
    forward_s: Sequence[float],
    backward_s: Sequence[float],
    transfer_s: float = 0.0,
    release_s: Sequence[float] | None = None,
) -> Timeline:
    """Time of every action when each rank works off its list as soon as its inputs are there.

    `ranks[r]` are the actions of pipeline rank r, `forward_s[s]` and `backward_s[s]` the pass times of stage s.
    A pass waits for its neighbour stage plus one transfer of `transfer_s` (which costs the ranks no compute) where
    the neighbour is on another rank, and for `release_s[r]` (the start of rank r). Raises ValueError for lists
    that wait for each other.
    """
    num_stages = len(forward_s)
    rank_of = {action.stage: rank for rank, actions in enumerate(ranks) for action in actions}
    done_s: dict[Action, float] = {}
    clock_s = list(release_s) if release_s is not None else [0.0] * len(ranks)
    position = [0] * len(ranks)
    timed: list[list[TimedAction]] = [[] for _ in ranks]
    ready = list(range(len(ranks)))
    waiting: dict[Action, int] = {}
    while ready:
        rank = ready.pop()
        actions = ranks[rank]
        while position[rank] < len(actions):
            action = actions[position[rank]]
            start_s = clock_s[rank]
            needed = _input_of(action, num_stages)
            if needed is not None:
                if needed not in done_s:
                    waiting[needed] = rank
                    break
                hop_s = transfer_s if rank_of[needed.stage] != rank else 0.0
                start_s = max(start_s, done_s[needed] + hop_s)
            end_s = start_s + (forward_s if action.kind == "F" else backward_s)[action.stage]
            done_s[action] = clock_s[rank] = end_s
            timed[rank].append(TimedAction(rank, action.stage, action.kind, action.microbatch, start_s, end_s))
            position[rank] += 1
            if action in waiting:
                ready.append(waiting.pop(action))
    if waiting:
        stuck = ", ".join(
            sorted(str(actions[position[rank]]) for rank, actions in enumerate(ranks) if position[rank] < len(actions))
        )
        raise ValueError(f"the schedule cannot run: {stuck} wait for each other")
    return Timeline(len(ranks), tuple(action for rank in timed for action in rank), max(clock_s))


def _input_of(action: Action, num_stages: int) -> Action | None:
    """The action whose output this one needs; None for the first forward stage. A backward also follows its forward,
    which stands before it in the same list."""
    if action.kind == "F":
        return Action(action.stage - 1, "F", action.microbatch) if action.stage > 0 else None
    if action.stage < num_stages - 1:
        return Action(action.stage + 1, "B", action.microbatch)
    return Action(action.stage, "F", action.microbatch)
