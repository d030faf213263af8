"""The towers of vision of Qwen2-VL to Qwen3.5: patches of a few frames, merged into tokens of the text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from costmodel.spec import Dense, Filter, LayerRun, Norm, Part
from costmodel.spec.shown import shown
from planner.models.config import Config
from planner.models.families.checks import Activation
from planner.models.families.encoder_parts import both_ways, layer_norm_block, two_matrices
from planner.models.families.image_parts import last_norm, stem
from planner.models.families.language import Language, equals_text_width
from planner.models.families.parts import block, mlp
from planner.models.family import One, RunSource, Stack, Within
from planner.models.keys import Computed, In, KindSource, Size, Source, layers, part, width

DEPTH = layers("depth", aliases=("num_hidden_layers",))
TOWER_HEADS = Size("num_heads", aliases=("num_attention_heads",))
TOWER_WIDTH = width("hidden_size")
CHANNELS = Size("in_channels", default=3)
FRAMES = Size("temporal_patch_size", default=2)
MERGE = Size("spatial_merge_size", default=2, most=64)
QUICK_GELU = Activation("hidden_act", "quick_gelu")
TANH_GELU = Activation("hidden_act", "gelu_pytorch_tanh")
OUT_WIDTH = 3584
"""Width that leaves the tower where none is given, whatever the width of the text."""
SIDE = 64
"""Patches along an edge of the image that is assumed where the config gives no size."""


def _filters(patch: Size, hidden: Size, *, bias: bool) -> Computed:
    """One convolution over as many frames and pixels as a patch has."""

    def read(config: Config, layer: int) -> tuple[Filter, ...]:
        pixels = patch.read(config, layer) ** 2 * FRAMES.read(config, layer) * CHANNELS.read(config, layer)
        return (Filter(fan_in=pixels, out=hidden.read(config, layer), bias=bias),)

    return Computed(read)


def _assumed_patches(config: Config, layer: int) -> int:
    merge = MERGE.read(config, layer)
    if SIDE % merge:
        config.fail(f"{config.place('spatial_merge_size')} is {merge}, but must divide {SIDE}, e.g. 2")
    config.assume(
        f"{config.place('')[:-1]} gives no size of images: {SIDE} x {SIDE} patches, which become "
        f"{(SIDE // merge) ** 2:,} tokens of text."
    )
    return SIDE**2


def _tokens_after(patches: Source) -> Computed:
    """Patches of a square of spatial_merge_size become one token."""
    return Computed(lambda config, layer: max(1, patches.read(config, layer) // MERGE.read(config, layer) ** 2))


def _merged_width(hidden: Size) -> Computed:
    return Computed(lambda config, layer: hidden.read(config, layer) * MERGE.read(config, layer) ** 2)


def _merger(hidden: Size, patches: Source, norm: Norm, language: Language, key: str) -> tuple[RunSource, ...]:
    """A norm of each patch, then two matrices over the patches that become one token."""
    merged, merged_tokens = In("vision_config", _merged_width(hidden)), In("vision_config", _tokens_after(patches))
    return (
        Within("vision_config", (last_norm(Part.VISION, patches, norm, hidden),)),
        One(Part.CONNECTOR, part(Dense, hidden=merged, out=merged, bias=True), num_tokens=merged_tokens),
        One(
            Part.CONNECTOR,
            part(Dense, hidden=merged, out=equals_text_width(language, key, OUT_WIDTH), bias=True),
            num_tokens=merged_tokens,
        ),
    )


@dataclass(frozen=True)
class DeepStack:
    """Mergers of their own for what some blocks of the tower yield, which the first blocks of the text add.

    As many as deepstack_visual_indexes lists (arXiv 2406.04334).
    """

    language: Language

    def runs(self, config: Config) -> Iterator[LayerRun]:
        """Two matrices each, after a norm over the patches that become one token."""
        tower = config.section("vision_config")
        indexes = _blocks(tower, "deepstack_visual_indexes", (8, 16, 24))
        if not indexes:
            return
        merged = _merged_width(TOWER_WIDTH).read(tower, 0)
        num_tokens = _tokens_after(POSITIONS).read(tower, 0)
        out = equals_text_width(self.language, "out_hidden_size", OUT_WIDTH).read(config, 0)
        for layer in (
            Dense(hidden=merged, out=merged, bias=True, norm=Norm.LAYER),
            Dense(hidden=merged, out=out, bias=True),
        ):
            yield LayerRun(part=Part.CONNECTOR, layer=layer, count=len(indexes), num_tokens=num_tokens)


def _blocks(tower: Config, key: str, default: tuple[int, ...]) -> tuple[int, ...]:
    """Numbers of blocks of the tower under `key`; those of the default that it has, where there is no list."""
    depth, given = DEPTH.read(tower, 0), tower.data.get(key)
    if given is None and key not in tower.data:
        return default
    if not isinstance(given, list) or len(given) > depth:
        tower.fail(
            f"{tower.place(key)} is {shown(given)}, but must be a list of at most {depth} numbers of blocks, "
            f"of which {tower.place(DEPTH.name)} gives {depth}"
        )
    for entry in given:
        if type(entry) is not int or not 0 <= entry < depth:
            tower.fail(
                f"{tower.place(key)} holds {shown(entry)}, but the tower's blocks are numbered 0 to {depth - 1} "
                f"({tower.place(DEPTH.name)} = {depth})"
            )
    return tuple(given)


PATCH_OF_14 = Size("patch_size", default=14)
ASSUMED_PATCHES = Computed(_assumed_patches)


def _tower_attention(hidden: Size, **changes: Any) -> KindSource:
    return both_ways(hidden, TOWER_HEADS, **changes)


def _plain_stem(hidden: Size) -> One:
    """Patches without a table of positions, which are rotary."""
    return stem(
        Part.VISION,
        ASSUMED_PATCHES,
        _filters(PATCH_OF_14, hidden, bias=False),
        hidden=hidden,
        num_positions=0,
    )


TOWER_2_WIDTH = width("embed_dim")
TOWER_2_FFN = Computed(
    lambda config, layer: TOWER_2_WIDTH.read(config, layer) * Size("mlp_ratio", default=4).read(config, layer)
)


def tower_2(language: Language) -> tuple[RunSource, ...]:
    """Of Qwen2-VL, where hidden_size is the width that leaves the tower."""
    return (
        Within(
            "vision_config",
            (
                _plain_stem(TOWER_2_WIDTH),
                Stack(
                    layer_norm_block(
                        _tower_attention(TOWER_2_WIDTH),
                        two_matrices(QUICK_GELU, TOWER_2_WIDTH, TOWER_2_FFN),
                        TOWER_2_WIDTH,
                    ),
                    DEPTH,
                    Part.VISION,
                    ASSUMED_PATCHES,
                ),
            ),
        ),
        *_merger(TOWER_2_WIDTH, ASSUMED_PATCHES, Norm.LAYER, language, "hidden_size"),
    )


def _window(config: Config, layer: int) -> int | None:
    """Patches that a block sees: those in its window, or all of them."""
    if layer in _blocks(config, "fullatt_block_indexes", (7, 15, 23, 31)):
        return None
    merge, patch = MERGE.read(config, layer), PATCH_OF_14.read(config, layer)
    pixels = Size("window_size", default=112).read(config, layer)
    merged = pixels // merge // patch
    if not merged:
        config.fail(
            f"{config.place('window_size')} is {pixels}, but must be at least {config.place(MERGE.name)} x "
            f"{config.place(PATCH_OF_14.name)} = {merge * patch}"
        )
    return int((merged * merge) ** 2)


def tower_2_5(language: Language) -> tuple[RunSource, ...]:
    """Of Qwen2.5-VL: gated networks, and windows in most blocks."""
    return (
        Within(
            "vision_config",
            (
                _plain_stem(TOWER_WIDTH),
                Stack(
                    block(_tower_attention(TOWER_WIDTH, window=Computed(_window), chunked=True), mlp(bias=True)),
                    DEPTH,
                    Part.VISION,
                    ASSUMED_PATCHES,
                ),
            ),
        ),
        *_merger(TOWER_WIDTH, ASSUMED_PATCHES, Norm.RMS, language, "out_hidden_size"),
    )


POSITIONS = Size("num_position_embeddings", default=2304, most=2**20)
"""Of the square table of positions, which is stretched over images of other sizes; the image is taken to fit it."""


def tower_3(language: Language) -> tuple[RunSource, ...]:
    """Of Qwen3-VL and Qwen3.5."""
    return (
        Within(
            "vision_config",
            (
                stem(
                    Part.VISION,
                    POSITIONS,
                    _filters(Size("patch_size", default=16), TOWER_WIDTH, bias=True),
                ),
                Stack(
                    layer_norm_block(_tower_attention(TOWER_WIDTH), two_matrices(TANH_GELU)),
                    DEPTH,
                    Part.VISION,
                    POSITIONS,
                ),
            ),
        ),
        *_merger(TOWER_WIDTH, POSITIONS, Norm.LAYER, language, "out_hidden_size"),
    )
