"""GPipe (arXiv 1811.06965): all forward passes, then all backward passes."""

from __future__ import annotations

from collections.abc import Sequence

from costmodel.schedules.action import Action


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


def lower_bound_s(
    forward_s: Sequence[float], backward_s: Sequence[float], num_microbatches: int, transfer_s: float
) -> float:
    """Time of the pipeline, exactly: two flow shops of equal jobs, one after the other.

    sum f + (m - 1) max f until the last stage has its last forward, then the same backward; each of the S - 1 hops
    adds one transfer per direction.
    """
    hops = 2 * (len(forward_s) - 1) * transfer_s
    bottleneck_s = max(forward_s) + max(backward_s)
    return sum(forward_s) + sum(backward_s) + (num_microbatches - 1) * bottleneck_s + hops
