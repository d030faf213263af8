"""Weights gathered from their shards for computing."""

from __future__ import annotations

from costmodel.memory.view import StageView
from costmodel.spec import MemoryItem, Source

PREFETCHED_LAYERS = 2
"""Layers gathered at once under ZeRO-3: the one that computes and the one that is fetched."""


def item(view: StageView) -> MemoryItem:
    """The whole stage in compute precision while ZeRO-1 or -2 of an fp32-storing stack runs; two layers under ZeRO-3.

    Replicated weights are cast only where they compute in another precision; one data-parallel rank has nothing to
    gather, whatever the stage.
    """
    mesh, stack = view.mesh, view.setting.stack
    zero = mesh.zero if mesh.dp > 1 else 0
    whole_bytes = view.compute_bytes * view.num_params
    if zero == 3:
        size_bytes = min(PREFETCHED_LAYERS * view.compute_bytes * view.largest_layer_params, whole_bytes)
    elif stack.weights_stored_in_fp32 and (zero > 0 or view.compute_bytes < 4):
        size_bytes = whole_bytes
    else:
        size_bytes = 0
    return MemoryItem(
        name="gathered weights",
        steady_bytes=size_bytes,
        first_step_bytes=0,
        checkpoint_bytes=0,
        source=Source.ANALYTIC,
    )
