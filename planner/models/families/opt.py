"""OPT: learned positions with two rows more than positions, and token rows that may be narrower than the model."""

from __future__ import annotations

from costmodel.spec import Embedding, Head, Norm, Part
from planner.models.config import Config
from planner.models.families.checks import Activation
from planner.models.families.parts import (
    HEAD_SPLIT,
    HEADS,
    HIDDEN,
    LAYERS,
    TIED,
    VOCAB,
    attention,
    biased,
    block,
    mlp,
)
from planner.models.family import Family, One, Stack
from planner.models.keys import Choose, Computed, Flag, Sum, part, tokens, width

RELU = Activation("activation_function", "relu")
BIAS = Flag("enable_bias", default=True)
POSITIONS = tokens("max_position_embeddings", default=2048)
OFFSET = 2
"""Rows of the table of positions before the first position."""

NORM = Choose(Flag("layer_norm_elementwise_affine", default=True), {True: Norm.LAYER, False: Norm.FIXED})
NORM_BEFORE = Flag("do_layer_norm_before", default=True)
NO_FINAL_NORM = Flag("_remove_final_layer_norm", default=False)


def _table_width(config: Config, layer: int) -> int | None:
    """Width of a token's row; None where it is that of the model, and nothing is projected."""
    hidden = HIDDEN.read(config, layer)
    table_width = int(width("word_embed_proj_dim", default=HIDDEN).read(config, layer))
    return None if table_width == hidden else table_width


TABLE_WIDTH = Computed(_table_width)

FAMILIES = (
    Family(
        "OPTForCausalLM",
        "opt",
        (
            One(
                Part.EMBEDDING,
                part(
                    Embedding,
                    vocab=VOCAB,
                    hidden=HIDDEN,
                    table_width=TABLE_WIDTH,
                    num_positions=Sum((POSITIONS, OFFSET)),
                ),
            ),
            Stack(
                block(
                    attention(num_kv_heads=HEADS, head_dim=HEAD_SPLIT, output_bias=BIAS, **biased(BIAS)),
                    mlp(ffn_hidden=width("ffn_dim"), gated=False, bias=BIAS, activation=RELU),
                    norm=NORM,
                    norms_output=Choose(NORM_BEFORE, {True: False, False: True}),
                ),
                LAYERS,
            ),
            One(
                Part.HEAD,
                part(
                    Head,
                    vocab=VOCAB,
                    hidden=HIDDEN,
                    table_width=TABLE_WIDTH,
                    tied=TIED,
                    # Blocks that normalise what they yield need no norm at the end (OPT-350m).
                    norm=Choose(NORM_BEFORE, {True: Choose(NO_FINAL_NORM, {True: None, False: NORM}), False: None}),
                ),
            ),
        ),
        max_seq_len=POSITIONS,
        checks=(RELU,),
    ),
)
