"""Qwen that sees: 2-VL, 2.5-VL, 3-VL and 3.5. A tower of vision whose patches are merged into tokens of the text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from costmodel.spec import Dense, Filter, LayerRun, Norm, QkNorm
from costmodel.spec import Part as ModelPart
from planner.models.config import Config, shown
from planner.models.families.checks import Activation, Rotation
from planner.models.families.encoder_parts import activates, both_ways, inside, layer_norm_block, two_matrices
from planner.models.families.image_parts import last_norm, stem
from planner.models.families.language import ONE_IMAGE, Language, by_model_type, equals_text_width
from planner.models.families.llama import LAYER_TYPES
from planner.models.families.parts import HEAD_SPLIT, HEADS, LAYERS, UNTIED, attention, biased, block, decoder, mlp
from planner.models.families.qwen_moe import (
    HYBRID_CHECKS,
    QWEN3_5_MOE_MTP,
    QWEN3_5_MOE_TEXT,
    QWEN3_5_MTP,
    QWEN3_5_TEXT,
    QWEN3_VL_MOE_TEXT,
    TEXT_CHECKS,
)
from planner.models.family import Family, One, RunSource, Stack, Within
from planner.models.keys import (
    Choose,
    Computed,
    Flag,
    In,
    Part,
    PerLayer,
    Size,
    Source,
    layers,
    part,
    tokens,
    width,
)

DEPTH = layers("depth", aliases=("num_hidden_layers",))
TOWER_HEADS = Size("num_heads", aliases=("num_attention_heads",))
TOWER_WIDTH = width("hidden_size")
CHANNELS = Size("in_channels", default=3)
FRAMES = Size("temporal_patch_size", default=2)
MERGE = Size("spatial_merge_size", default=2, most=64)
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
        Within("vision_config", (last_norm(ModelPart.VISION, patches, norm, hidden),)),
        One(ModelPart.CONNECTOR, part(Dense, hidden=merged, out=merged, bias=True), num_tokens=merged_tokens),
        One(
            ModelPart.CONNECTOR,
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
            yield LayerRun(part=ModelPart.CONNECTOR, layer=layer, count=len(indexes), num_tokens=num_tokens)


def _blocks(tower: Config, key: str, default: tuple[int, ...]) -> tuple[int, ...]:
    """Numbers of blocks of the tower under `key`; those of the default that it has, where there is no list."""
    depth, given = DEPTH.read(tower, 0), tower.data.get(key)
    if given is None and key not in tower.data:
        return default
    if not isinstance(given, list) or len(given) > depth:
        tower.fail(f"{tower.place(key)} is {shown(given)}, but must be a list of at most {depth} numbers of blocks")
    for entry in given:
        if type(entry) is not int or not 0 <= entry < depth:
            tower.fail(f"{tower.place(key)} holds {shown(entry)}, but the tower's blocks are numbered 0 to {depth - 1}")
    return tuple(given)


PATCH_OF_14 = Size("patch_size", default=14)
ASSUMED_PATCHES = Computed(_assumed_patches)


def _tower_attention(hidden: Size, **changes: Any) -> Part:
    return both_ways(hidden, TOWER_HEADS, **changes)


def _plain_stem(hidden: Size) -> One:
    """Patches without a table of positions, which are rotary."""
    return stem(
        ModelPart.VISION,
        ASSUMED_PATCHES,
        _filters(PATCH_OF_14, hidden, bias=False),
        hidden=hidden,
        num_positions=0,
    )


TOWER_2_WIDTH = width("embed_dim")
TOWER_2_FFN = Computed(
    lambda config, layer: TOWER_2_WIDTH.read(config, layer) * Size("mlp_ratio", default=4).read(config, layer)
)


def _tower_2(language: Language) -> tuple[RunSource, ...]:
    """Of Qwen2-VL, where hidden_size is the width that leaves the tower."""
    return (
        Within(
            "vision_config",
            (
                _plain_stem(TOWER_2_WIDTH),
                Stack(
                    layer_norm_block(
                        _tower_attention(TOWER_2_WIDTH), two_matrices(TOWER_2_WIDTH, TOWER_2_FFN), TOWER_2_WIDTH
                    ),
                    DEPTH,
                    ModelPart.VISION,
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
            f"{config.place('window_size')} is {pixels}, but must be at least spatial_merge_size x patch_size = "
            f"{merge * patch}"
        )
    return int((merged * merge) ** 2)


def _tower_2_5(language: Language) -> tuple[RunSource, ...]:
    """Of Qwen2.5-VL: gated networks, and windows in most blocks."""
    return (
        Within(
            "vision_config",
            (
                _plain_stem(TOWER_WIDTH),
                Stack(
                    block(_tower_attention(TOWER_WIDTH, window=Computed(_window), chunked=True), mlp(bias=True)),
                    DEPTH,
                    ModelPart.VISION,
                    ASSUMED_PATCHES,
                ),
            ),
        ),
        *_merger(TOWER_WIDTH, ASSUMED_PATCHES, Norm.RMS, language, "out_hidden_size"),
    )


POSITIONS = Size("num_position_embeddings", default=2304, most=2**20)
"""Of the square table of positions, which is stretched over images of other sizes; the image is taken to fit it."""


def _tower_3(language: Language) -> tuple[RunSource, ...]:
    """Of Qwen3-VL and Qwen3.5."""
    return (
        Within(
            "vision_config",
            (
                stem(
                    ModelPart.VISION,
                    POSITIONS,
                    _filters(Size("patch_size", default=16), TOWER_WIDTH, bias=True),
                ),
                Stack(
                    layer_norm_block(_tower_attention(TOWER_WIDTH), two_matrices()),
                    DEPTH,
                    ModelPart.VISION,
                    POSITIONS,
                ),
            ),
        ),
        *_merger(TOWER_WIDTH, POSITIONS, Norm.LAYER, language, "out_hidden_size"),
    )


def _text_2_layer_type(config: Config, layer: int) -> str:
    """Windows are off unless switched on, and then begin at block max_window_layers."""
    length = tokens("sliding_window", default=4096, null=None).read(config, layer)
    if length is None or not Flag("use_sliding_window", default=False, null=False).read(config, layer):
        return "full_attention"
    first = Size("max_window_layers", default=80, least=0).read(config, layer)
    return "sliding_attention" if layer >= first else "full_attention"


def _text_2_window(config: Config, layer: int) -> int:
    if not Flag("use_sliding_window", default=False, null=False).read(config, layer):
        config.fail(
            f"{config.place('layer_types')}[{layer}] is 'sliding_attention', but use_sliding_window is not true; "
            "make them agree"
        )
    return int(tokens("sliding_window", default=4096).read(config, layer))


TEXT_2 = decoder(
    block(
        attention(
            num_kv_heads=Size("num_key_value_heads", default=8, null=HEADS),
            head_dim=HEAD_SPLIT,
            window=Choose(
                PerLayer("layer_types", LAYERS, LAYER_TYPES, default=Computed(_text_2_layer_type)),
                {"full_attention": None, "sliding_attention": Computed(_text_2_window)},
            ),
            **biased(True),
        ),
        mlp(),
    ),
    tied=UNTIED,
)
TEXT_2_CHECKS = (Rotation(HEAD_SPLIT, renamed={"mrope": "default"}), Activation())
BIAS = Flag("attention_bias", default=False)
HEAD_DIM_OF_128 = width("head_dim", default=128)
TEXT_3 = decoder(
    block(
        attention(
            num_kv_heads=Size("num_key_value_heads", default=32, null=HEADS),
            head_dim=HEAD_DIM_OF_128,
            qk_norm=QkNorm.HEAD,
            output_bias=BIAS,
            **biased(BIAS),
        ),
        mlp(),
    ),
    tied=UNTIED,
)


def _language(default: str, *families: Family, may_be_flat: bool = False) -> Language:
    """Of 2-VL and 2.5-VL, which may be told flat, text_config may tie the tables; of the others the outer config."""
    return Language(by_model_type(*families), default, or_nested=may_be_flat, may_be_flat=may_be_flat)


LANGUAGE_2 = _language(
    "qwen2_vl_text", Family("Qwen2VLTextModel", "qwen2_vl_text", TEXT_2, checks=TEXT_2_CHECKS), may_be_flat=True
)
LANGUAGE_2_5 = _language(
    "qwen2_5_vl_text",
    Family("Qwen2_5_VLTextModel", "qwen2_5_vl_text", TEXT_2, checks=TEXT_2_CHECKS),
    may_be_flat=True,
)
LANGUAGE_3 = _language(
    "qwen3_vl_text",
    Family("Qwen3VLTextModel", "qwen3_vl_text", TEXT_3, checks=(Rotation(HEAD_DIM_OF_128), Activation())),
)
LANGUAGE_3_MOE = _language(
    "qwen3_vl_moe_text",
    Family("Qwen3VLMoeTextModel", "qwen3_vl_moe_text", QWEN3_VL_MOE_TEXT, checks=TEXT_CHECKS),
)
LANGUAGE_3_5 = _language("qwen3_5_text", Family("Qwen3_5TextModel", "qwen3_5_text", QWEN3_5_TEXT, checks=HYBRID_CHECKS))
LANGUAGE_3_5_MOE = _language(
    "qwen3_5_moe_text", Family("Qwen3_5MoeTextModel", "qwen3_5_moe_text", QWEN3_5_MOE_TEXT, checks=HYBRID_CHECKS)
)


def _family(
    architecture: str,
    model_type: str,
    tower: tuple[RunSource, ...],
    language: Language,
    activation: str,
    mtp: tuple[RunSource, ...] = (),
) -> Family:
    """A tower of vision before a language model."""
    return Family(
        architecture,
        model_type,
        (*tower, language),
        max_seq_len=language.longest,
        mtp=(Within("text_config", mtp),) if mtp else (),
        checks=(inside("vision_config", activates("hidden_act", activation)),),
        note=ONE_IMAGE,
    )


FAMILIES: tuple[Family, ...] = (
    _family("Qwen2VLForConditionalGeneration", "qwen2_vl", _tower_2(LANGUAGE_2), LANGUAGE_2, "quick_gelu"),
    _family("Qwen2_5_VLForConditionalGeneration", "qwen2_5_vl", _tower_2_5(LANGUAGE_2_5), LANGUAGE_2_5, "silu"),
    _family(
        "Qwen3VLForConditionalGeneration",
        "qwen3_vl",
        (*_tower_3(LANGUAGE_3), DeepStack(LANGUAGE_3)),
        LANGUAGE_3,
        "gelu_pytorch_tanh",
    ),
    _family(
        "Qwen3VLMoeForConditionalGeneration",
        "qwen3_vl_moe",
        (*_tower_3(LANGUAGE_3_MOE), DeepStack(LANGUAGE_3_MOE)),
        LANGUAGE_3_MOE,
        "gelu_pytorch_tanh",
    ),
    _family(
        "Qwen3_5ForConditionalGeneration",
        "qwen3_5",
        _tower_3(LANGUAGE_3_5),
        LANGUAGE_3_5,
        "gelu_pytorch_tanh",
        QWEN3_5_MTP,
    ),
    _family(
        "Qwen3_5MoeForConditionalGeneration",
        "qwen3_5_moe",
        _tower_3(LANGUAGE_3_5_MOE),
        LANGUAGE_3_5_MOE,
        "gelu_pytorch_tanh",
        QWEN3_5_MOE_MTP,
    ),
)
