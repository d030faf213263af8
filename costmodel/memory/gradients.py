"""Gradients: accumulated whole or as shards, and those of the layer whose backward pass runs."""

from __future__ import annotations

from costmodel.memory.moments import Moments
from costmodel.memory.view import StageView

NAME = "gradients"


def item(view: StageView) -> Moments:
    """Whole through accumulation under ZeRO-0 and -1, sharded under 2 and 3, and from ZeRO-1 on once reduced.

    With one micro-batch nothing has accumulated when its backward pass starts, and each layer is reduced as it comes.
    A stack may instead keep one buffer all the time: whole under ZeRO-0 and -1, of the shard under 2 and 3.
    """
    bytes_per_param = view.setting.stack.grad_bytes_per_param
    preallocated = view.setting.stack.gradients_preallocated
    whole_bytes = bytes_per_param * view.num_params
    if preallocated and view.zero < 2:
        return Moments.always(NAME, whole_bytes)
    shard_bytes = int(bytes_per_param * view.num_owned_params) if view.zero > 0 else whole_bytes
    layer_bytes = view.compute_bytes * view.largest_layer_params
    accumulated_bytes = whole_bytes if view.zero < 2 else shard_bytes
    is_there = preallocated or view.mesh.num_microbatches > 1
    return Moments(
        NAME,
        backward_start_bytes=layer_bytes + (accumulated_bytes if is_there else 0),
        backward_end_bytes=shard_bytes,
        optimizer_step_bytes=shard_bytes,
        checkpoint_bytes=shard_bytes if preallocated else 0,
    )
