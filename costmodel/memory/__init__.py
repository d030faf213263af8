"""What fills the memory of a rank: one kind a file, listed here once in the order the report stacks them."""

from __future__ import annotations

from costmodel.memory import (
    checkpoint_buffer,
    communication_buffers,
    gathered_weights,
    gradients,
    logits,
    optimizer_state,
    saved_activations,
    weights,
)
from costmodel.memory.view import StageView
from costmodel.spec import StageMemory

MEMORY_TERMS = (
    weights.item,
    gathered_weights.item,
    gradients.item,
    optimizer_state.item,
    saved_activations.item,
    logits.item,
    communication_buffers.item,
    checkpoint_buffer.item,
)


def stage_memory(view: StageView) -> StageMemory:
    """Memory of one rank of the stage, kind by kind, with its three peaks."""
    return StageMemory(stage=view.stage, items=tuple(term(view) for term in MEMORY_TERMS))


__all__ = ["MEMORY_TERMS", "StageView", "stage_memory"]
