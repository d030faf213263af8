"""What the hardware does badly with a model's shapes, and which kernels a model is taken to run in: worth a warning."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from costmodel.spec import (
    Attention,
    Block,
    GatedDeltaNet,
    KimiDeltaAttention,
    Kind,
    LatentAttention,
    LightningAttention,
    Mamba,
    Mamba2,
    ModelSpec,
)

TILE = 8
"""Matrix units of GPUs take 16-bit numbers in tiles whose sides are multiples of 8 (NVIDIA, "Matrix Multiplication
Background", DU-09799-001); fused attention kernels pad what is not."""

FALLBACK = "transformers' own fallback is slower and keeps many times more."
FUSED: tuple[tuple[str, str, Callable[[Kind], bool]], ...] = (
    ("State-space layers", "mamba-ssm, causal-conv1d", lambda part: isinstance(part, Mamba | Mamba2)),
    (
        "Layers of linear attention",
        "flash-linear-attention",
        lambda part: isinstance(part, GatedDeltaNet | KimiDeltaAttention | LightningAttention),
    ),
    (
        "Layers of attention to keys that an index picks",
        "FlashMLA",
        lambda part: isinstance(part, LatentAttention) and part.index_topk is not None,
    ),
    (
        "Linear biases of attention",
        "ALiBi in flash-attn",
        lambda part: isinstance(part, Attention) and part.linear_biases,
    ),
)
"""Parts whose time and memory are those of kernels that frameworks bring or users install, and what brings them."""


def cautions(model: ModelSpec) -> tuple[str, ...]:
    """A sentence for each head dimension that is not a multiple of 8, and for each family of kernels that is taken to
    be there."""
    blocks = [run.layer for run in model.runs if isinstance(run.layer, Block)]
    odd = sorted({dim for block in blocks for dim in _head_dims(block)})
    padded = tuple(
        f"Heads of {dim} are not a multiple of {TILE}: matrix units and fused attention kernels pad them or fall back, "
        "which is not in the times."
        for dim in odd
        if dim % TILE
    )
    parts = [part for block in blocks for part in block.parts]
    fused = tuple(
        f"{layers} are taken to run in fused kernels ({kernels}); {FALLBACK}"
        for layers, kernels, is_meant in FUSED
        if any(is_meant(part) for part in parts)
    )
    return padded + fused


def _head_dims(block: Block) -> Iterator[int]:
    for part in block.parts:
        match part:
            case Attention():
                yield from (part.head_dim, part.value_dim or part.head_dim)
            case LatentAttention():
                yield from (part.qk_head_dim, part.v_head_dim)
