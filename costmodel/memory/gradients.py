"""Gradients: whole or sharded, and the buffer in which a layer's gradients are reduced."""

from __future__ import annotations

from costmodel.memory.view import StageView
from costmodel.spec import MemoryItem, Source


def item(view: StageView) -> MemoryItem:
    """Whole through accumulation under ZeRO-0 and -1, sharded under 2 and 3.

    When the optimizer steps, ZeRO-1 and above hold the reduced shard. While they are reduced, the gradients of the
    largest layer stand whole beside it.
    """
    mesh = view.mesh
    bytes_per_param = view.setting.stack.grad_bytes_per_param
    whole_bytes = bytes_per_param * view.num_params
    shard_bytes = whole_bytes // (view.shards if mesh.zero > 0 else 1)
    reduced_bytes = bytes_per_param * view.largest_layer_params if mesh.dp > 1 else 0
    return MemoryItem(
        name="gradients",
        steady_bytes=whole_bytes if mesh.zero < 2 else min(shard_bytes + reduced_bytes, whole_bytes),
        first_step_bytes=shard_bytes,
        checkpoint_bytes=0,
        source=Source.ANALYTIC,
    )
