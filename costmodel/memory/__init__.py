"""What fills the memory of a rank: one kind a file, listed here once in the order the report stacks them."""

from __future__ import annotations

from costmodel.memory import (
    checkpoint_buffer,
    communication_buffers,
    gathered_weights,
    gradients,
    logits,
    optimizer_state,
    pipeline_buffers,
    saved_activations,
    weights,
)
from costmodel.memory.moments import Moments
from costmodel.memory.view import StageView
from costmodel.spec import MemoryItem, StageMemory

MEMORY_TERMS = (
    weights.item,
    gathered_weights.item,
    gradients.item,
    optimizer_state.item,
    saved_activations.item,
    logits.item,
    communication_buffers.item,
    pipeline_buffers.item,
    checkpoint_buffer.item,
)


def stage_moments(view: StageView) -> Moments:
    """Bytes of all kinds together, at each moment."""
    kinds = [term(view) for term in MEMORY_TERMS]
    return Moments(
        "all",
        backward_start_bytes=sum(kind.backward_start_bytes for kind in kinds),
        backward_end_bytes=sum(kind.backward_end_bytes for kind in kinds),
        optimizer_step_bytes=sum(kind.optimizer_step_bytes for kind in kinds),
        checkpoint_bytes=sum(kind.checkpoint_bytes for kind in kinds),
    )


def stage_memory(view: StageView) -> StageMemory:
    """Memory of one rank of the stage, kind by kind, with its three peaks; the steady one is the higher of the start
    and the end of the backward pass."""
    kinds = [term(view) for term in MEMORY_TERMS]
    start_bytes = sum(kind.backward_start_bytes for kind in kinds)
    peaks_at_start = start_bytes >= sum(kind.backward_end_bytes for kind in kinds)
    return StageMemory(
        stage=view.stage,
        items=tuple(
            MemoryItem(
                name=kind.name,
                steady_bytes=kind.backward_start_bytes if peaks_at_start else kind.backward_end_bytes,
                first_step_bytes=kind.optimizer_step_bytes,
                checkpoint_bytes=kind.checkpoint_bytes,
                source=kind.source,
            )
            for kind in kinds
        ),
    )


__all__ = ["MEMORY_TERMS", "Moments", "StageView", "stage_memory", "stage_moments"]
