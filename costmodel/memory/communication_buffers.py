"""Buffers of data-parallel reductions: the gradients of one layer, copied to be reduced."""

from __future__ import annotations

from costmodel.memory.moments import Moments
from costmodel.memory.view import StageView


def item(view: StageView) -> Moments:
    """One layer's gradients in the width of the reduction, where dp > 1. ZeRO-0 reduces after the backward pass.

    A stack that keeps whole gradients in one buffer, which it does below ZeRO-2, reduces them in place.
    """
    stack = view.setting.stack
    if view.mesh.num_replicas == 1 or (stack.gradients_preallocated and view.zero < 2):
        return Moments("communication buffers")
    size_bytes = stack.grad_bytes_per_param * view.largest_layer_params
    return Moments(
        "communication buffers",
        backward_start_bytes=size_bytes if view.zero > 0 else 0,
        backward_end_bytes=size_bytes,
    )
