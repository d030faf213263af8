"""Buffers that collectives copy through: the flat input or output of one layer's gather and reduction."""

from __future__ import annotations

from costmodel.memory.view import StageView
from costmodel.spec import MemoryItem, Source


def item(view: StageView) -> MemoryItem:
    """One gathered copy of the largest layer in compute precision, and one of its gradients, where dp > 1."""
    mesh = view.mesh
    size_bytes = 0
    if mesh.dp > 1:
        size_bytes += view.setting.stack.grad_bytes_per_param * view.largest_layer_params
        if mesh.zero > 0:
            size_bytes += view.compute_bytes * view.largest_layer_params
    return MemoryItem(
        name="communication buffers",
        steady_bytes=size_bytes,
        first_step_bytes=0,
        checkpoint_bytes=0,
        source=Source.ANALYTIC,
    )
