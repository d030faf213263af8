"""1F1B (PipeDream-flush, arXiv 2006.09503): after a warm-up each stage alternates one forward and one backward."""

from __future__ import annotations

from collections.abc import Sequence

from costmodel.schedules.action import Action


def order(num_stages: int, num_microbatches: int) -> tuple[tuple[Action, ...], ...]:
    """Actions of each rank in the order it runs them; stage s starts with S - 1 - s forwards."""
    ranks = []
    for stage in range(num_stages):
        warmup = min(num_stages - 1 - stage, num_microbatches)
        actions = [Action(stage, "F", microbatch) for microbatch in range(warmup)]
        for microbatch in range(num_microbatches - warmup):
            actions.append(Action(stage, "F", warmup + microbatch))
            actions.append(Action(stage, "B", microbatch))
        actions += [Action(stage, "B", microbatch) for microbatch in range(num_microbatches - warmup, num_microbatches)]
        ranks.append(tuple(actions))
    return tuple(ranks)


def in_flight(stage: int, num_stages: int, num_microbatches: int) -> int:
    """Micro-batches whose activations a stage holds at most."""
    return min(num_stages - stage, num_microbatches)


def lower_bound_s(
    forward_s: Sequence[float], backward_s: Sequence[float], num_microbatches: int, transfer_s: float
) -> float:
    """A lower bound of the pipeline's time, the maximum over stages s of

        P + m t + (G - k f)^+ + (G - k b)^+      with t = f + b of stage s, k = S - 1 - s

    P is what the stages before s do for one micro-batch, before s can start and after it ends; G what the stages
    behind it do for one micro-batch, of which only k passes of s can be hidden while it waits: once for its first
    backward, once for its last. With m <= k + 1 both waits are one interval, so the larger counts, and only m - 1
    passes can hide it. Each hop adds its transfer.
    """
    total_s = [f + b for f, b in zip(forward_s, backward_s, strict=True)]
    best_s, before_s, behind_s = 0.0, 0.0, sum(total_s)
    for stage, (f, b, t) in enumerate(zip(forward_s, backward_s, total_s, strict=True)):
        behind_s -= t
        stages_behind = len(total_s) - 1 - stage
        hidden = min(stages_behind, num_microbatches - 1)
        round_trip_s = behind_s + 2 * stages_behind * transfer_s
        waits_s = max(0.0, round_trip_s - hidden * f), max(0.0, round_trip_s - hidden * b)
        wait_s = sum(waits_s) if num_microbatches > stages_behind + 1 else max(waits_s)
        best_s = max(best_s, before_s + 2 * stage * transfer_s + num_microbatches * t + wait_s)
        before_s += t
    return best_s
