"""Llama 3.2 Vision: some blocks of the text attend to the tokens of an image instead of to the text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from costmodel.spec import Dense, Embedding, Head, LayerRun, Norm, Part, QkNorm
from costmodel.spec.shown import shown
from planner.models.config import Config
from planner.models.families.checks import Activation, Rotation
from planner.models.families.encoder_parts import both_ways, inside, layer_norm_block, two_matrices
from planner.models.families.experts import listed_blocks
from planner.models.families.image_parts import last_norm, patch_filters, patches, stem
from planner.models.families.language import ONE_IMAGE
from planner.models.families.parts import HEAD_SPLIT, HIDDEN, LAYERS, VOCAB, attention, block, mlp
from planner.models.family import Family, One, RunSource, Stack, Within
from planner.models.keys import Choose, Computed, In, Size, Sum, Times, layers, part, tokens, width

NUM_ASPECT_RATIOS, NUM_TILES = 8, 4
"""Where the config gives neither: every way to lay up to four tiles."""
CROSS_BLOCKS = (3, 8, 13, 18, 23, 28, 33, 38)
EXTRA_ROWS = 8
"""Of the embedding, beyond the vocabulary, for the image; the head has none."""

TOWER_HEADS = Size("attention_heads", aliases=("num_attention_heads",))
TILES = Size("max_num_tiles", default=NUM_TILES, most=64)
POSITIONS_PER_TILE = Sum((patches(448, 14, square=True), 1))
TOKENS = Computed(lambda config, layer: TILES.read(config, layer) * POSITIONS_PER_TILE.read(config, layer))
"""All tiles together, each with a class token."""
VISION_OUT = width("vision_output_dim", default=7680)


def _num_aspect_ratios(config: Config) -> int:
    listed = config.data.get("supported_aspect_ratios")
    if listed is None:
        if TILES.read(config, 0) != NUM_TILES:
            config.fail(
                f"{config.place('max_num_tiles')} is {TILES.read(config, 0)}, but without "
                f"{config.place('supported_aspect_ratios')} it must be {NUM_TILES}"
            )
        return NUM_ASPECT_RATIOS
    if not isinstance(listed, list) or not 1 <= len(listed) <= 1024:
        config.fail(
            f"{config.place('supported_aspect_ratios')} is {shown(listed)}, but must be a list of pairs of numbers"
        )
    return len(listed)


def _tile_tables(config: Config, layer: int) -> int:
    """A row for each aspect ratio and one for none: positions of all tokens of all tiles, and twice one vector a tile,
    before and after the blocks; each table has a gate."""
    rows, per_row = _num_aspect_ratios(config) + 1, TILES.read(config, layer) * HIDDEN.read(config, layer)
    return int(rows * per_row * (POSITIONS_PER_TILE.read(config, layer) + 2) + 3)


def _feeds_all_it_keeps(config: Config) -> None:
    """What leaves the tower is its output beside what some of its blocks yield (a list that has a default)."""
    listed = config.data.get("intermediate_layers_indices")
    listed = [3, 7, 15, 23, 30] if listed is None else listed
    if not isinstance(listed, list) or any(type(entry) is not int for entry in listed):
        config.fail(
            f"{config.place('intermediate_layers_indices')} is {shown(listed)}, but must be a list of numbers of blocks"
        )
    expected = HIDDEN.read(config, 0) * (1 + len(listed))
    if VISION_OUT.read(config, 0) != expected:
        config.fail(
            f"{config.place('vision_output_dim')} is {VISION_OUT.read(config, 0)}, but "
            f"{config.place(HIDDEN.name)} x (1 + the length of {config.place('intermediate_layers_indices')}) is "
            f"{expected}; they must be equal"
        )


TOWER_BLOCK = layer_norm_block(
    both_ways(HIDDEN, TOWER_HEADS, query_bias=False, key_bias=False, value_bias=False, output_bias=False),
    two_matrices(Activation("hidden_act", "gelu")),
)
TOWER: tuple[RunSource, ...] = (
    stem(
        Part.VISION,
        TOKENS,
        patch_filters(14, bias=False, square=True),
        num_positions=POSITIONS_PER_TILE,
        num_extra_tokens=1,
        norm=Norm.LAYER,
        other_params=Computed(_tile_tables),
    ),
    Stack(TOWER_BLOCK, LAYERS, Part.VISION, TOKENS),
    last_norm(Part.VISION, TOKENS),
    # Each half of a global block has a gate.
    Stack(TOWER_BLOCK.but(other_params=2), layers("num_global_layers", default=8), Part.VISION, TOKENS),
)


def _attends_to(config: Config, layer: int) -> str:
    """What a block of the text attends to, by the list cross_attention_layers."""
    if not config.has("cross_attention_layers"):
        return "image" if layer in CROSS_BLOCKS else "text"
    return "image" if layer in listed_blocks(config, "cross_attention_layers") else "text"


KV_HEADS = Size("num_key_value_heads", default=8)
TEXT_ATTENTION = attention(num_kv_heads=KV_HEADS, head_dim=HEAD_SPLIT)


def _text(image_tokens: int) -> tuple[RunSource, ...]:
    """The language model, some of whose blocks attend to `image_tokens` tokens of its own width."""
    to_image = TEXT_ATTENTION.but(causal=False, qk_norm=QkNorm.HEAD, source_hidden=HIDDEN, source_len=image_tokens)
    return (
        One(
            Part.EMBEDDING,
            part(Embedding, vocab=VOCAB, hidden=HIDDEN, other_params=Times(EXTRA_ROWS, HIDDEN)),
        ),
        Stack(
            Choose(
                Computed(_attends_to),
                {
                    "text": block(TEXT_ATTENTION, mlp()),
                    # Each half has a gate.
                    "image": block(None, mlp(), cross_attention=to_image, other_params=2),
                },
            ),
            LAYERS,
        ),
        # The class ties nothing.
        One(Part.HEAD, part(Head, vocab=VOCAB, hidden=HIDDEN)),
    )


@dataclass(frozen=True)
class Text:
    """The language model of text_config, some of whose blocks attend to the tower of vision_config."""

    def runs(self, config: Config) -> Iterator[LayerRun]:
        """From embedding to head."""
        image_tokens = TOKENS.read(config.section("vision_config"), 0)
        for source in _text(image_tokens):
            yield from source.runs(config.section("text_config"))


FAMILIES: tuple[Family, ...] = (
    Family(
        "MllamaForConditionalGeneration",
        "mllama",
        (
            Within("vision_config", TOWER),
            One(
                Part.CONNECTOR,
                part(Dense, hidden=In("vision_config", VISION_OUT), out=In("text_config", HIDDEN), bias=True),
                num_tokens=In("vision_config", TOKENS),
            ),
            Text(),
        ),
        max_seq_len=In("text_config", tokens("max_position_embeddings", default=131_072)),
        checks=(
            inside("vision_config", _feeds_all_it_keeps),
            inside("text_config", Activation(), Rotation(HEAD_SPLIT)),
        ),
        note=ONE_IMAGE,
    ),
)
