"""Vision transformers: ViT, DeiT, DINOv2. Patches of an image through blocks that see all of it."""

from __future__ import annotations

from costmodel.spec import Part
from planner.models.config import Config
from planner.models.families.checks import Activation
from planner.models.families.encoder_parts import both_ways, dense, labels, layer_norm_block, two_matrices
from planner.models.families.image_parts import CHANNELS, last_norm, patch_filters, patches, stem
from planner.models.families.parts import HEAD_DIM, HIDDEN, LAYERS
from planner.models.family import Family, One, RunSource, Stack
from planner.models.keys import Computed, Flag, KindSource, Size, Sum, Times, width

QKV_BIAS = Flag("qkv_bias", default=True)
ATTENTION = both_ways(head_dim=HEAD_DIM, query_bias=QKV_BIAS, key_bias=QKV_BIAS, value_bias=QKV_BIAS)
GELU = Activation("hidden_act", "gelu")


def _classifier(hidden: Size | Times = HIDDEN) -> One:
    """None where there are no classes."""
    matrix = dense(labels(least=0), hidden)
    return One(Part.HEAD, matrix.layer, num_tokens=1, when=labels(least=0))


def _backbone(
    num_patches: Computed,
    patch: int,
    extra_tokens: Sum | int,
    positions: Sum,
    block: KindSource,
    other_params: object = 0,
) -> tuple[RunSource, ...]:
    """Stem, blocks and norm. `extra_tokens` stand before the patches; `positions` has a row for some of them."""
    num_tokens = Sum((num_patches, extra_tokens))
    return (
        stem(
            Part.EMBEDDING,
            num_tokens,
            patch_filters(patch, bias=True),
            num_positions=positions,
            num_extra_tokens=extra_tokens,
            other_params=other_params,
        ),
        Stack(block, LAYERS, num_tokens=num_tokens),
        last_norm(Part.HEAD, num_tokens),
    )


PATCHES_OF_16 = patches(224, 16)
PATCHES_OF_14 = patches(224, 14)
VIT_BLOCK = layer_norm_block(ATTENTION, two_matrices(GELU))
POOLER_WIDTH = width("pooler_output_size", default=HIDDEN)
STRIDE = Size("encoder_stride", default=16)
PIXELS = Computed(lambda config, layer: STRIDE.read(config, layer) ** 2 * CHANNELS.read(config, layer))
"""Numbers that masked image modelling predicts for each patch."""


def _families(model_type: str, prefix: str, extra_tokens: int) -> tuple[Family, ...]:
    """Classes of ViT, or of DeiT with its second token."""
    positions = Sum((PATCHES_OF_16, extra_tokens))
    plain = _backbone(PATCHES_OF_16, 16, extra_tokens, positions, VIT_BLOCK)
    masking = _backbone(PATCHES_OF_16, 16, extra_tokens, positions, VIT_BLOCK, other_params=HIDDEN)

    def family(name: str, *runs: RunSource) -> Family:
        return Family(f"{prefix}{name}", model_type, runs)

    return (
        family("ForImageClassification", *plain, _classifier()),
        family("Model", *plain, dense(POOLER_WIDTH)),
        family("ForMaskedImageModeling", *masking, dense(PIXELS, tokens=PATCHES_OF_16)),
    )


RATIO = Size("mlp_ratio", default=4)


def _dino_ffn(config: Config, layer: int) -> int:
    """mlp_ratio times the width; of a gated network two thirds of that, rounded up to a multiple of 8."""
    columns = int(HIDDEN.read(config, layer) * RATIO.read(config, layer))
    if not Flag("use_swiglu_ffn", default=False).read(config, layer):
        return columns
    return (int(columns * 2 / 3) + 7) // 8 * 8


DINO_BLOCK = layer_norm_block(
    ATTENTION,
    two_matrices(GELU, ffn=Computed(_dino_ffn), gated=Flag("use_swiglu_ffn", default=False)),
    # A learned scale on what each half adds.
    other_params=Times(2, HIDDEN),
)


def _dino_mask(config: Config, layer: int) -> int:
    return int(HIDDEN.read(config, layer)) if Flag("use_mask_token", default=True).read(config, layer) else 0


REGISTERS = Sum((1, Size("num_register_tokens", default=4, least=0)))
DINO = _backbone(PATCHES_OF_14, 14, 1, Sum((PATCHES_OF_14, 1)), DINO_BLOCK, Computed(_dino_mask))
DINO_WITH_REGISTERS = _backbone(PATCHES_OF_16, 16, REGISTERS, Sum((PATCHES_OF_16, 1)), DINO_BLOCK, HIDDEN)
DINO_CLASSIFIER = _classifier(Times(2, HIDDEN))
"""Reads the class token beside the mean of the patches."""

DEIT = _families("deit", "DeiT", 2)
FAMILIES: tuple[Family, ...] = (
    *_families("vit", "ViT", 1),
    *DEIT,
    Family(
        "DeiTForImageClassificationWithTeacher",
        "deit",
        (*DEIT[0].layers, _classifier()),
    ),
    Family("Dinov2Model", "dinov2", DINO),
    Family("Dinov2ForImageClassification", "dinov2", (*DINO, DINO_CLASSIFIER)),
    Family("Dinov2WithRegistersModel", "dinov2_with_registers", DINO_WITH_REGISTERS),
    Family(
        "Dinov2WithRegistersForImageClassification",
        "dinov2_with_registers",
        (*DINO_WITH_REGISTERS, DINO_CLASSIFIER),
    ),
)
