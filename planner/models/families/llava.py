"""A tower of vision joined to a language model, each of one of several kinds: LLaVA, PaliGemma, Mistral 3."""

from __future__ import annotations

from typing import Any

from costmodel.spec import Dense, FinalNorm, Norm, Part
from planner.models.config import Config, shown
from planner.models.families import gemma, llama, mixtral, phi
from planner.models.families.language import (
    ONE_IMAGE,
    ONE_IMAGE_BOTH_WAYS,
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

LLAVA_VISION = Vision(ANY_TOWER, "clip_vision_model")
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


def _without_class(config: Config, layer: int) -> int:
    """The first token that leaves the tower is dropped, unless all are asked for."""
    strategy = Word("vision_feature_select_strategy", default="default", known=("default", "full"))
    num_tokens = int(LLAVA_VISION.num_tokens.read(config, layer))
    return max(1, num_tokens - 1) if strategy.read(config, layer) == "default" else num_tokens


BIAS_UNLESS_OFF = Flag("multimodal_projector_bias", default=True)
BIAS_IF_ON = Flag("multimodal_projector_bias", default=False)


def _llava(architecture: str, model_type: str, *, or_nested: bool, newline: Source | int) -> Family:
    """Two matrices join tower and text. `newline` counts the numbers of a learned token between rows of tiles."""
    language = Language(ANY_TEXT, "llama", or_nested=or_nested)
    num_tokens = Computed(_without_class)
    text_width = language.width
    return Family(
        architecture,
        model_type,
        (
            LLAVA_VISION,
            _matrix(_features(-2, VISION_WIDTH), text_width, num_tokens, bias=BIAS_UNLESS_OFF),
            _matrix(text_width, text_width, num_tokens, bias=BIAS_UNLESS_OFF, other_params=newline),
            language,
        ),
        max_seq_len=language.longest,
        checks=(PROJECTS,),
        note=ONE_IMAGE,
    )


PALIGEMMA_LANGUAGE = Language(by_model_type(*gemma.FAMILIES), "gemma", tied=TIED)
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
    _llava("LlavaForConditionalGeneration", "llava", or_nested=True, newline=0),
    _llava(
        "LlavaNextForConditionalGeneration",
        "llava_next",
        or_nested=False,
        newline=Language(ANY_TEXT, "llama").width,
    ),
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
        note=ONE_IMAGE_BOTH_WAYS,
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
