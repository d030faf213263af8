"""Interleaved 1F1B (arXiv 2104.04473): each rank holds several chunks of the model, which micro-batches visit in turns.

Chunk c of rank r is stage c x ranks + r. Micro-batches go through a chunk in groups of as many as there are ranks, as
Megatron-LM orders them, so that the number of micro-batches must be a multiple of the ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from costmodel.schedules.action import Action
from costmodel.schedules.bounds import BoundRow


def order(num_ranks: int, num_microbatches: int, num_chunks: int = 1) -> tuple[tuple[Action, ...], ...]:
    """Actions of each rank in the order it runs them."""
    total = num_microbatches * num_chunks
    ranks = []
    for rank in range(num_ranks):
        forward = [
            Action(chunk * num_ranks + rank, "F", microbatch)
            for chunk, microbatch in (_turn(place, num_ranks, num_chunks) for place in range(total))
        ]
        backward = [
            Action((num_chunks - 1 - chunk) * num_ranks + rank, "B", microbatch)
            for chunk, microbatch in (_turn(place, num_ranks, num_chunks) for place in range(total))
        ]
        warmup = _warmup(rank, num_ranks, num_microbatches, num_chunks)
        actions = forward[:warmup]
        for place in range(total - warmup):
            actions += [forward[warmup + place], backward[place]]
        ranks.append((*actions, *backward[total - warmup :]))
    return tuple(ranks)


def _turn(place: int, num_ranks: int, num_chunks: int) -> tuple[int, int]:
    """Chunk and micro-batch of the forward pass at `place`; of the backward pass the chunk counts from the last."""
    group, rest = divmod(place, num_ranks * num_chunks)
    return rest // num_ranks, group * num_ranks + rest % num_ranks


def _warmup(rank: int, num_ranks: int, num_microbatches: int, num_chunks: int) -> int:
    """Forward passes before a rank's first backward pass but one."""
    return min(2 * (num_ranks - 1 - rank) + (num_chunks - 1) * num_ranks, num_microbatches * num_chunks)


def in_flight(stage: int, num_ranks: int, num_microbatches: int, weights: Sequence[float] = (1,)) -> int:
    """Micro-batches whose activations a stage holds when its rank holds most; one of chunk c weighs `weights[c]`."""
    chunk, rank = divmod(stage, num_ranks)
    return _held_at_peak(rank, num_ranks, num_microbatches, tuple(weights))[chunk]


@lru_cache(maxsize=64)
def _held_at_peak(rank: int, num_ranks: int, num_microbatches: int, weights: tuple[float, ...]) -> tuple[int, ...]:
    """Micro-batches in each chunk of a rank at the first moment at which they weigh most.

    The most passes are held after the warm-up and one pass more. From there on a backward pass takes the place of each
    forward pass, by turns in other chunks, so that heavy chunks may hold more later. After a group of micro-batches
    the turns come again.
    """
    num_chunks = len(weights)
    warmup = _warmup(rank, num_ranks, num_microbatches, num_chunks)
    held = [0] * num_chunks
    for place in range(warmup):
        held[_turn(place, num_ranks, num_chunks)[0]] += 1
    peak = list(held)
    steady = min(num_microbatches * num_chunks - warmup, num_ranks * num_chunks)
    for place in range(steady):
        held[_turn(warmup + place, num_ranks, num_chunks)[0]] += 1
        if _weight(held, weights) > _weight(peak, weights):
            peak = list(held)
        held[num_chunks - 1 - _turn(place, num_ranks, num_chunks)[0]] -= 1
    return tuple(peak)


def _weight(held: Sequence[int], weights: Sequence[float]) -> float:
    return sum(count * weight for count, weight in zip(held, weights, strict=True))


def bound_rows(num_ranks: int, num_microbatches: int, num_chunks: int = 1) -> tuple[BoundRow, ...]:
    """For each rank all of its passes, and what the ranks before it do for one micro-batch before it can start and
    after it ends; each of these hops adds its transfer."""
    num_stages = num_ranks * num_chunks
    return tuple(
        BoundRow.of_totals(
            rank,
            [num_microbatches if stage % num_ranks == rank else int(stage < rank) for stage in range(num_stages)],
            2 * rank,
        )
        for rank in range(num_ranks)
    )


def any_cut_bound_s(
    total_s: float,
    bottleneck_s: float,
    num_ranks: int,
    num_microbatches: int,
    num_chunks: int = 1,  # noqa: ARG001
) -> float:
    """What no cut undercuts whose stages take `total_s` together and one of them at least `bottleneck_s`: one
    micro-batch passes all stages, ranks share all passes, and a stage has its own."""
    return max(total_s, num_microbatches * total_s / num_ranks, num_microbatches * bottleneck_s)
