"""Gradients: accumulated whole or as shards, and those of the layer whose backward pass runs."""

from __future__ import annotations

from costmodel.memory.moments import Moments
from costmodel.memory.view import StageView

NAME = "gradients"


def item(view: StageView) -> Moments:
    """Whole through accumulation under ZeRO-0 and -1, sharded under 2 and 3, and from ZeRO-1 on once reduced.

    With one micro-batch nothing has accumulated when its backward pass starts, and each layer is reduced as it comes.
    A stack may instead keep one whole buffer all the time.
    """
    bytes_per_param = view.setting.stack.grad_bytes_per_param
    whole_bytes = bytes_per_param * view.num_params
    if view.setting.stack.gradients_preallocated:
        return Moments.always(NAME, whole_bytes)
    shard_bytes = int(bytes_per_param * view.num_owned_params) if view.zero > 0 else whole_bytes
    layer_bytes = view.compute_bytes * view.largest_layer_params
    accumulated_bytes = whole_bytes if view.zero < 2 else shard_bytes
    return Moments(
        NAME,
        backward_start_bytes=layer_bytes + (accumulated_bytes if view.mesh.num_microbatches > 1 else 0),
        backward_end_bytes=shard_bytes,
        optimizer_step_bytes=shard_bytes,
    )
