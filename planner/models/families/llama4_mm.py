"""Llama 4 with its tower of vision."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from costmodel.spec import Activation, Dense, LayerRun, Norm, Part
from costmodel.spec.shown import shown
from planner.models.config import Config
from planner.models.families import llama4
from planner.models.families.encoder_parts import both_ways, layer_norm_block, two_matrices
from planner.models.families.image_parts import last_norm, patch_filters, patches, stem
from planner.models.families.language import ONE_IMAGE, Language, by_model_type
from planner.models.families.parts import FFN, HIDDEN, LAYERS
from planner.models.family import Family, One, RunSource, Stack
from planner.models.keys import Computed, In, Sum, part, width

DEFAULT_TOWER = {
    "hidden_size": 768,
    "num_hidden_layers": 34,
    "num_attention_heads": 16,
    "intermediate_size": 5632,
    "num_channels": 3,
    "image_size": 448,
    "patch_size": 14,
    "projector_input_dim": 4096,
    "projector_output_dim": 4096,
    "vision_output_dim": 7680,
}
"""What the class builds where there is no vision_config at all."""

PATCHES = patches(448, 14, square=True)
TOKENS = Sum((PATCHES, 1))
PROJECTOR_IN = width("projector_input_dim", default=4096)
PROJECTOR_OUT = width("projector_output_dim", default=4096)
VISION_OUT = width("vision_output_dim", default=7680)


def _ratio(config: Config) -> float:
    ratio = config.data.get("pixel_shuffle_ratio", 0.5)
    if type(ratio) not in (int, float) or not 1 / 64 <= ratio <= 1:
        config.fail(f"{config.place('pixel_shuffle_ratio')} is {shown(ratio)}, but must be a number from 1/64 to 1")
    return float(ratio)


SHUFFLED = Computed(lambda config, layer: max(1, round(PATCHES.read(config, layer) * _ratio(config) ** 2)))
"""Tokens once those of each square are put side by side."""

TOWER: tuple[RunSource, ...] = (
    stem(
        Part.VISION,
        TOKENS,
        patch_filters(14, bias=False, square=True),
        num_extra_tokens=1,
        norm=Norm.LAYER,
    ),
    Stack(layer_norm_block(both_ways(), two_matrices(Activation.KERNEL)), LAYERS, Part.VISION, TOKENS),
    last_norm(Part.VISION, TOKENS),
    One(Part.CONNECTOR, part(Dense, hidden=FFN, out=PROJECTOR_IN), num_tokens=SHUFFLED),
    One(Part.CONNECTOR, part(Dense, hidden=PROJECTOR_OUT, out=PROJECTOR_OUT), num_tokens=SHUFFLED),
)


@dataclass(frozen=True)
class Vision:
    """The tower of vision_config, or the class's own where that is not given."""

    def runs(self, config: Config) -> Iterator[LayerRun]:
        """The layers; raises BadInputError where sizes that are given do not fit each other."""
        if not config.has("vision_config"):
            config.assume(
                f"vision_config is not given: a tower of {DEFAULT_TOWER['num_hidden_layers']} blocks of width "
                f"{DEFAULT_TOWER['hidden_size']}, which {config.architecture} builds then."
            )
        vision = config.section("vision_config", DEFAULT_TOWER)
        if config.has("vision_config"):
            _fits(vision)
        for source in TOWER:
            yield from source.runs(vision)


def _fits(vision: Config) -> None:
    """The shuffled tokens are as wide as the first matrix of the projector, and what follows is as wide as it yields.

    Keys that are not given are not held against others: the class's own defaults do not fit each other.
    """
    shuffled = round(HIDDEN.read(vision, 0) / _ratio(vision) ** 2)
    if FFN.read(vision, 0) != shuffled:
        vision.fail(
            f"{vision.place('intermediate_size')} is {FFN.read(vision, 0)}, but the tokens that meet the projector "
            f"have width {vision.place(HIDDEN.name)} / {vision.place('pixel_shuffle_ratio')}^2 = {shuffled}; they "
            "must be equal"
        )
    given = [key for key in (PROJECTOR_IN, PROJECTOR_OUT, VISION_OUT) if vision.has(key.name)]
    for first, second in pairwise(given):
        if first.read(vision, 0) != second.read(vision, 0):
            vision.fail(
                f"{vision.place(first.name)} is {first.read(vision, 0)}, but {vision.place(second.name)} is "
                f"{second.read(vision, 0)}; they must be equal"
            )


# The text model is a language model of its own, so its config says whether tables are tied.
LANGUAGE = Language(by_model_type(*llama4.FAMILIES), "llama4_text", tied=False, or_nested=True)

FAMILIES: tuple[Family, ...] = (
    Family(
        "Llama4ForConditionalGeneration",
        "llama4",
        (
            Vision(),
            One(
                Part.CONNECTOR,
                part(Dense, hidden=In("vision_config", VISION_OUT), out=LANGUAGE.width),
                num_tokens=In("vision_config", SHUFFLED),
            ),
            LANGUAGE,
        ),
        max_seq_len=LANGUAGE.longest,
        note=ONE_IMAGE,
    ),
)
