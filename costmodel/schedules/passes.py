"""Passes: the actions of all ranks in one sequence in which each stands behind what it waits for.

Such a sequence hangs on the lists alone and not on times, so it is worked out once for all prices of a schedule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

from costmodel.schedules.action import Action


class Pass(NamedTuple):
    """One action, as numbers that index the times it takes. A tuple, since millions are run through."""

    rank: int
    work: int
    """The stage for a forward pass, the number of stages plus the stage for a backward pass."""
    needed: int | None
    """Place in the sequence of the pass whose output it takes; None for the first forward pass of a micro-batch."""
    hops: bool
    """Whether that output comes from another rank."""


@dataclass(frozen=True)
class Passes:
    """A schedule for some number of stages and micro-batches; passes of one rank stand in the order it runs them."""

    num_ranks: int
    steps: tuple[Pass, ...]
    last_of_stage: tuple[int, ...]
    """Place in the sequence of each stage's last pass."""

    @classmethod
    def of(cls, ranks: Sequence[Sequence[Action]]) -> Self:
        """The sequence of `ranks[r]`, the actions of pipeline rank r; raises ValueError for lists that wait for each
        other."""
        rank_of = {action.stage: rank for rank, actions in enumerate(ranks) for action in actions}
        num_stages = len(rank_of)
        steps: list[Pass] = []
        place_of: dict[tuple[str, int, int], int] = {}
        last_of_stage = [0] * num_stages
        left = [iter(actions) for actions in ranks]
        next_of = [next(actions, None) for actions in left]
        waiting: dict[tuple[str, int, int], int] = {}
        ready = list(range(len(ranks)))
        while ready:
            rank = ready.pop()
            while (action := next_of[rank]) is not None:
                kind, stage, microbatch = action.kind, action.stage, action.microbatch
                needed = _input_of(kind, stage, microbatch, num_stages)
                if needed is not None and needed not in place_of:
                    waiting[needed] = rank
                    break
                place = len(steps)
                work = stage if kind == "F" else num_stages + stage
                if needed is None:
                    steps.append(Pass(rank, work, None, False))
                else:
                    steps.append(Pass(rank, work, place_of[needed], rank_of[needed[1]] != rank))
                done = (kind, stage, microbatch)
                place_of[done] = last_of_stage[stage] = place
                next_of[rank] = next(left[rank], None)
                if done in waiting:
                    ready.append(waiting.pop(done))
        if waiting:
            stuck = ", ".join(sorted(str(action) for action in next_of if action is not None))
            raise ValueError(f"the schedule cannot run: {stuck} wait for each other")
        return cls(len(ranks), tuple(steps), tuple(last_of_stage))


def _input_of(kind: str, stage: int, microbatch: int, num_stages: int) -> tuple[str, int, int] | None:
    """Kind, stage and micro-batch of the pass whose output this one takes; None for the first forward stage. A
    backward pass also follows its forward pass, which stands before it in the same list."""
    if kind == "F":
        return ("F", stage - 1, microbatch) if stage > 0 else None
    return ("B", stage + 1, microbatch) if stage < num_stages - 1 else ("F", stage, microbatch)
