"""1F1B (PipeDream-flush, arXiv 2006.09503): after a warm-up each stage alternates one forward and one backward."""

from __future__ import annotations

import numpy as np

from costmodel.schedules.action import Action
from costmodel.schedules.bounds import BoundRow


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


def bound_rows(num_stages: int, num_microbatches: int) -> tuple[BoundRow, ...]:
    """Lower bounds of the pipeline's time, for each stage s the maximum of

        P + m t + (G - k f)^+ + (G - k b)^+      with t = f + b of stage s, k = S - 1 - s

    P is what the stages before s do for one micro-batch, before s can start and after it ends; G what the stages
    behind it do for one micro-batch, of which only k passes of s can be hidden while it waits: once for its first
    backward, once for its last. With m <= k + 1 both waits are one interval, so the larger counts, and only m - 1
    passes can hide it. Each hop adds its transfer.
    """
    rows = []
    for stage in range(num_stages):
        behind = num_stages - 1 - stage
        hidden = min(behind, num_microbatches - 1)
        waits = [(0, 0), (1, 0), (0, 1)] + ([(1, 1)] if num_microbatches > behind + 1 else [])
        for first, last in waits:
            row = [1 if u < stage else (first + last) for u in range(num_stages)]
            forward, backward = list(row), list(row)
            forward[stage] = num_microbatches - first * hidden
            backward[stage] = num_microbatches - last * hidden
            hops = 2 * stage + 2 * behind * (first + last)
            rows.append(BoundRow(tuple(forward), tuple(backward), hops))
    return tuple(rows)


def any_cut_bound_s(total_s: float, bottleneck_s: float, num_stages: int, num_microbatches: int) -> float:
    """What no cut undercuts whose stages take `total_s` together and one of them at least `bottleneck_s`.

    The bottleneck alone takes m times its time. And with m > S the rows with both waits,

        P_s + (m - k_s) t_s + 2 G_s,

    add up, weighted so that every stage counts alike, to (m + S - 1) / S of the total; such weights exist where
    they come out non-negative.
    """
    bound_s = max(num_microbatches * bottleneck_s, total_s)
    if num_microbatches > num_stages:
        row = np.arange(num_stages)
        matrix = np.where(row[None, :] < row[:, None], 1.0, 2.0)
        np.fill_diagonal(matrix, num_microbatches - (num_stages - 1 - row))
        if np.all(np.linalg.solve(matrix.T, np.ones(num_stages)) >= 0):
            bound_s = max(bound_s, (num_microbatches + num_stages - 1) / num_stages * total_s)
    return bound_s
