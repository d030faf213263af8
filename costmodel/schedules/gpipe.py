"""GPipe (arXiv 1811.06965): all forward passes, then all backward passes."""

from __future__ import annotations

from costmodel.schedules.action import Action
from costmodel.schedules.bounds import BoundRow


def order(num_stages: int, num_microbatches: int) -> tuple[tuple[Action, ...], ...]:
    """Actions of each rank in the order it runs them."""
    microbatches = range(num_microbatches)
    return tuple(
        tuple(Action(stage, kind, microbatch) for kind in "FB" for microbatch in microbatches)
        for stage in range(num_stages)
    )


def in_flight(stage: int, num_stages: int, num_microbatches: int) -> int:  # noqa: ARG001
    """Micro-batches whose activations a stage holds at most."""
    return num_microbatches


def bound_rows(num_stages: int, num_microbatches: int) -> tuple[BoundRow, ...]:
    """Two flow shops of equal jobs, one after the other: sum t + (m - 1) max t, where the slowest stage is the same
    in forward and backward; each of the S - 1 hops adds one transfer per direction."""
    hops = 2 * (num_stages - 1)
    return tuple(
        BoundRow.of_totals(stage, [num_microbatches if u == stage else 1 for u in range(num_stages)], hops)
        for stage in range(num_stages)
    )


def any_cut_bound_s(total_s: float, bottleneck_s: float, num_stages: int, num_microbatches: int) -> float:  # noqa: ARG001
    """What no cut undercuts whose stages take `total_s` together and one of them at least `bottleneck_s`."""
    return total_s + (num_microbatches - 1) * bottleneck_s
