"""BEiT: a vision transformer whose scores have a learned bias for each offset between patches."""

from __future__ import annotations

from costmodel.spec import Dense, Norm, Part, ScoreBias
from costmodel.spec.shown import shown
from planner.models.config import Config
from planner.models.families.checks import Activation
from planner.models.families.encoder_parts import both_ways, dense, labels, layer_norm_block, two_matrices
from planner.models.families.image_parts import last_norm, patch_filters, patches, sides, stem
from planner.models.families.parts import HEAD_DIM, HEADS, HIDDEN, LAYERS, VOCAB
from planner.models.family import Family, One, RunSource, Stack
from planner.models.keys import Choose, Computed, Flag, Sum, part

GELU = Activation("hidden_act", "gelu")
TOKENS = Sum((patches(224, 16), 1))
RELATIVE = Flag("use_relative_position_bias", default=False)
SHARED = Flag("use_shared_relative_position_bias", default=False)
MEAN = Flag("use_mean_pooling", default=True)
BESIDE_PATCHES = 3
"""Offsets from the class token to a patch, from a patch to it, and to itself."""


def _offsets(config: Config, _: int) -> int:
    """Numbers per head: one for each offset of two patches in the grid, and those of the class token."""
    image, patch = (sides(config, key, size, square=False) for key, size in (("image_size", 224), ("patch_size", 16)))
    rows, columns = image[0] // patch[0], image[1] // patch[1]
    return (2 * rows - 1) * (2 * columns - 1) + BESIDE_PATCHES


def _score_bias(config: Config, layer: int) -> ScoreBias:
    learned = RELATIVE.read(config, layer) or SHARED.read(config, layer)
    return ScoreBias.LEARNED if learned else ScoreBias.NONE


def _beside_blocks(config: Config, layer: int) -> int:
    """A token for masked patches, and the one table that all blocks share."""
    mask = HIDDEN.read(config, layer) if Flag("use_mask_token", default=False).read(config, layer) else 0
    table = HEADS.read(config, layer) * _offsets(config, layer) if SHARED.read(config, layer) else 0
    return int(mask + table)


def _scales(config: Config, layer: int) -> int:
    """A learned scale on what each half adds, where it has a number to start from."""
    start = config.data.get("layer_scale_init_value", 0.1)
    if type(start) not in (int, float):
        config.fail(f"{config.place('layer_scale_init_value')} is {shown(start)}, but must be a number")
    return 2 * int(HIDDEN.read(config, layer)) if start > 0 else 0


BACKBONE: tuple[RunSource, ...] = (
    stem(
        Part.EMBEDDING,
        TOKENS,
        patch_filters(16, bias=True),
        num_positions=Choose(Flag("use_absolute_position_embeddings", default=False), {True: TOKENS, False: 0}),
        num_extra_tokens=1,
        other_params=Computed(_beside_blocks),
    ),
    Stack(
        layer_norm_block(
            both_ways(
                head_dim=HEAD_DIM,
                key_bias=False,
                score_bias=Computed(_score_bias),
                position_buckets=Choose(RELATIVE, {True: Computed(_offsets), False: 0}),
            ),
            two_matrices(GELU),
            other_params=Computed(_scales),
        ),
        LAYERS,
        num_tokens=TOKENS,
    ),
)
NORM = last_norm(Part.HEAD, TOKENS).layer
LAST_NORM = One(Part.HEAD, NORM, num_tokens=TOKENS, when=Choose(MEAN, {True: False, False: True}))
POOLED = One(Part.HEAD, NORM, num_tokens=1, when=MEAN)
"""The norm of the mean of the patches, where that and not the class token stands for the image."""


def _beit(name: str, *head: RunSource) -> Family:
    return Family(name, "beit", (*BACKBONE, LAST_NORM, *head), checks=(GELU,))


FAMILIES: tuple[Family, ...] = (
    _beit(
        "BeitForImageClassification",
        POOLED,
        One(Part.HEAD, dense(labels(least=0)).layer, num_tokens=1, when=labels(least=0)),
    ),
    _beit("BeitModel", POOLED),
    _beit(
        "BeitForMaskedImageModeling",
        One(Part.HEAD, part(Dense, hidden=HIDDEN, out=VOCAB, bias=True, norm=Norm.LAYER), num_tokens=TOKENS),
    ),
)
