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
            rows.append(BoundRow(stage, tuple(forward), tuple(backward), hops))
    return tuple(rows)


def any_cut_bound_s(total_s: float, bottleneck_s: float, num_stages: int, num_microbatches: int) -> float:
    """What no cut undercuts whose stages take `total_s` together and one of them at least `bottleneck_s`.

    The bottleneck alone takes m times its time. And any weighted mean of rows is a bound; one whose weights make
    every stage count alike bounds by the total, whatever the cut. The rows are those of `bound_rows` with both
    waits taken as positive, or with their mean where they are one interval:

        P_s + (m - k_s) t_s + 2 G_s        or        P_s + (m - h_s / 2) t_s + G_s
    """
    stage = np.arange(num_stages)
    behind = num_stages - 1 - stage
    apart = num_microbatches > behind + 1
    hidden = np.minimum(behind, num_microbatches - 1)
    rows = np.where(stage[None, :] < stage[:, None], 1.0, np.where(apart, 2.0, 1.0)[:, None])
    np.fill_diagonal(rows, np.where(apart, num_microbatches - hidden, num_microbatches - hidden / 2))
    weights = np.clip(np.linalg.lstsq(rows.T, np.ones(num_stages), rcond=None)[0], 0.0, None)
    mean_row = weights @ rows / weights.sum() if weights.any() else np.ones(num_stages)
    return max(num_microbatches * bottleneck_s, total_s, float(mean_row.min()) * total_s)
