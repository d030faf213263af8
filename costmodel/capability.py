"""What the hardware does badly with a model's shapes: worth a warning, not a refusal."""

from __future__ import annotations

from collections.abc import Iterator

from costmodel.spec import Attention, Block, LatentAttention, ModelSpec

TILE = 8
"""Matrix units of GPUs take 16-bit numbers in tiles whose sides are multiples of 8 (NVIDIA, "Matrix Multiplication
Background", DU-09799-001); fused attention kernels pad what is not."""


def cautions(model: ModelSpec) -> tuple[str, ...]:
    """A sentence for each head dimension that is not a multiple of 8."""
    odd = sorted({dim for run in model.runs if isinstance(run.layer, Block) for dim in _head_dims(run.layer)})
    return tuple(
        f"Heads of {dim} are not a multiple of {TILE}: matrix units and fused attention kernels pad them or fall back, "
        "which is not in the times."
        for dim in odd
        if dim % TILE
    )


def _head_dims(block: Block) -> Iterator[int]:
    for part in block.parts:
        match part:
            case Attention():
                yield from (part.head_dim, part.value_dim or part.head_dim)
            case LatentAttention():
                yield from (part.qk_head_dim, part.v_head_dim)
