"""A tower of vision joined to a language model, each of one of several kinds: LLaVA, PaliGemma, Mistral 3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from costmodel.spec import Dense, FinalNorm, Norm, Part
from costmodel.spec.shown import shown
from planner.models.config import Config
from planner.models.families import gemma, llama, mixtral, phi
from planner.models.families.language import (
    ONE_IMAGE,
    PROJECTS,
    Language,
    by_model_type,
    equals_text_width,
)
from planner.models.families.parts import HIDDEN, LAYERS, TIED
from planner.models.families.towers import ANY_TOWER, PIXTRAL, SIGLIP, Vision
from planner.models.family import Family, One
from planner.models.keys import Computed, Flag, In, Size, Source, Word, part

ANY_TEXT = by_model_type(*llama.FAMILIES, *mixtral.FAMILIES, *gemma.FAMILIES, *phi.FAMILIES)

VISION_WIDTH = In("vision_config", HIDDEN)


def _num_features(default: int) -> Computed:
    """How many blocks' outputs are put side by side: one, or as many as vision_feature_layer lists."""

    def count(config: Config, _: int) -> int:
        value = config.data.get("vision_feature_layer", default)
        listed = value if isinstance(value, list) else [value]
        depth = LAYERS.read(config.section("vision_config"), 0)
        if not listed or any(type(entry) is not int or not -depth - 1 <= entry <= depth for entry in listed):
            config.fail(
                f"{config.place('vision_feature_layer')} is {shown(value)}, but must be a number of a block, or some, "
                f"from {-depth - 1} to {depth}"
            )
        return len(listed)

    return Computed(count)


def _features(default: int, width: Source) -> Computed:
    """The width of those outputs together."""
    return Computed(lambda config, layer: width.read(config, layer) * _num_features(default).read(config, layer))


def _matrix(hidden: Any, out: Any, num_tokens: Source, **more: Any) -> One:
    return One(Part.CONNECTOR, part(Dense, hidden=hidden, out=out, **more), num_tokens=num_tokens)


def _selected(vision: Vision, default: str) -> Computed:
    """Tokens that are kept: the first that leaves the tower is dropped, unless all are asked for."""
    strategy = Word("vision_feature_select_strategy", default=default, known=("default", "full"))

    def count(config: Config, layer: int) -> int:
        num_tokens = int(vision.num_tokens.read(config, layer))
        return max(1, num_tokens - 1) if strategy.read(config, layer) == "default" else num_tokens

    return Computed(count)


BIAS_UNLESS_OFF = Flag("multimodal_projector_bias", default=True)
BIAS_IF_ON = Flag("multimodal_projector_bias", default=False)


@dataclass(frozen=True)
class _Defaults:
    """What a LLaVA takes where its config is silent."""

    text: str = "llama"
    tower: str = "clip_vision_model"
    feature_layer: int = -2
    selects: str = "default"


LLAVA, ONEVISION = _Defaults(), _Defaults("qwen2", "siglip_vision_model", -1, "full")


def _llava(architecture: str, model_type: str, defaults: _Defaults, *, or_nested: bool, has_newline: bool) -> Family:
    """Two matrices join tower and text. Some have a learned token between rows of tiles."""
    language = Language(ANY_TEXT, defaults.text, or_nested=or_nested)
    vision = Vision(ANY_TOWER, defaults.tower)
    num_tokens = _selected(vision, defaults.selects)
    text_width = language.width
    newline = text_width if has_newline else 0
    return Family(
        architecture,
        model_type,
        (
            vision,
            _matrix(_features(defaults.feature_layer, VISION_WIDTH), text_width, num_tokens, bias=BIAS_UNLESS_OFF),
            _matrix(text_width, text_width, num_tokens, bias=BIAS_UNLESS_OFF, other_params=newline),
            language,
        ),
        max_seq_len=language.longest,
        checks=(PROJECTS,),
        note=ONE_IMAGE,
    )


SEES_ALL = Flag("use_bidirectional_attention", default=True, null=True)
PALIGEMMA_LANGUAGE = Language(
    by_model_type(gemma.gemma1(SEES_ALL), gemma.gemma2(SEES_ALL), *gemma.FAMILIES), "gemma", tied=TIED
)
PALIGEMMA_VISION = Vision({"siglip_vision_model": SIGLIP}, "siglip_vision_model")

MISTRAL_LANGUAGE = Language(ANY_TEXT, "mistral", tied=TIED)
MISTRAL_VISION = Vision({"pixtral": PIXTRAL}, "pixtral")
MERGE = Size("spatial_merge_size", default=2, most=64)
"""Patches along the edge of a square that becomes one token."""
MERGED_TOKENS = Computed(
    lambda config, layer: max(1, MISTRAL_VISION.num_tokens.read(config, layer) // MERGE.read(config, layer) ** 2)
)
MERGED_WIDTH = Computed(lambda config, layer: VISION_WIDTH.read(config, layer) * MERGE.read(config, layer) ** 2)

FAMILIES: tuple[Family, ...] = (
    _llava("LlavaForConditionalGeneration", "llava", LLAVA, or_nested=True, has_newline=False),
    _llava("LlavaNextForConditionalGeneration", "llava_next", LLAVA, or_nested=False, has_newline=True),
    _llava("LlavaOnevisionForConditionalGeneration", "llava_onevision", ONEVISION, or_nested=True, has_newline=True),
    Family(
        "PaliGemmaForConditionalGeneration",
        "paligemma",
        (
            PALIGEMMA_VISION,
            # The class reads the projection's width from a key of its own, beside both configs.
            _matrix(
                VISION_WIDTH,
                equals_text_width(PALIGEMMA_LANGUAGE, "projection_dim", 2048, section=None),
                PALIGEMMA_VISION.num_tokens,
                bias=True,
            ),
            PALIGEMMA_LANGUAGE,
        ),
        max_seq_len=PALIGEMMA_LANGUAGE.longest,
        note=f"{ONE_IMAGE} Attention of the language model reaches both ways where text_config does not say otherwise.",
    ),
    Family(
        "Mistral3ForConditionalGeneration",
        "mistral3",
        (
            MISTRAL_VISION,
            One(
                Part.CONNECTOR,
                part(FinalNorm, hidden=VISION_WIDTH, norm=Norm.RMS),
                num_tokens=MISTRAL_VISION.num_tokens,
            ),
            _matrix(MERGED_WIDTH, VISION_WIDTH, MERGED_TOKENS),
            _matrix(_features(-1, VISION_WIDTH), MISTRAL_LANGUAGE.width, MERGED_TOKENS, bias=BIAS_IF_ON),
            _matrix(MISTRAL_LANGUAGE.width, MISTRAL_LANGUAGE.width, MERGED_TOKENS, bias=BIAS_IF_ON),
            MISTRAL_LANGUAGE,
        ),
        max_seq_len=MISTRAL_LANGUAGE.longest,
        checks=(PROJECTS,),
        note=ONE_IMAGE,
    ),
)
