"""Kinds of towers of vision that models of several senses choose from, by the model_type of their vision_config."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from costmodel.spec import LayerRun, Norm, Part
from costmodel.spec.shown import shown
from planner.models.config import Config
from planner.models.errors import UnknownArchitectureError
from planner.models.families.checks import Activation
from planner.models.families.clip import (
    BESIDE,
    CLIP_ACTIVATES,
    CLIP_TOKENS,
    SIGLIP_ACTIVATES,
    SIGLIP_TOKENS,
    clip_vision,
    siglip_vision,
)
from planner.models.families.encoder_parts import both_ways
from planner.models.families.image_parts import patch_filters, patches, stem
from planner.models.families.parts import LAYERS, block, mlp
from planner.models.family import RunSource, Stack
from planner.models.keys import Computed, Source

PIXTRAL_TOKENS = patches(1024, 16, square=True)
PIXTRAL_VISION: tuple[RunSource, ...] = (
    stem(
        Part.VISION,
        PIXTRAL_TOKENS,
        patch_filters(16, bias=False, square=True),
        num_positions=0,
        norm=Norm.RMS,
    ),
    Stack(
        block(both_ways(query_bias=False, key_bias=False, value_bias=False, output_bias=False), mlp()),
        LAYERS,
        Part.VISION,
        PIXTRAL_TOKENS,
    ),
)


@dataclass(frozen=True)
class Tower:
    """One kind of tower of vision."""

    layers: tuple[RunSource, ...]
    num_tokens: Source
    check: Callable[[Config], None]


@dataclass(frozen=True)
class Vision:
    """The tower that vision_config describes, of the kind that its model_type names."""

    towers: Mapping[str, Tower]
    default: str

    def runs(self, config: Config) -> Iterator[LayerRun]:
        """The layers; raises BadInputError for a kind that is not known."""
        tower = self._find(config)
        for source in tower.layers:
            yield from source.runs(config.section("vision_config"))
        tower.check(config.section("vision_config"))

    @property
    def num_tokens(self) -> Source:
        """Tokens that leave the tower."""
        return Computed(
            lambda config, layer: self._find(config).num_tokens.read(config.section("vision_config"), layer)
        )

    def _find(self, config: Config) -> Tower:
        vision = config.section("vision_config")
        name = vision.data.get("model_type", self.default)
        if not isinstance(name, str) or name not in self.towers:
            raise UnknownArchitectureError(
                f"{config.where}: {vision.place('model_type')} is {shown(name)}, but must be one of "
                f"{', '.join(self.towers)}"
            )
        return self.towers[name]


SIGLIP = Tower(siglip_vision(*BESIDE), SIGLIP_TOKENS, SIGLIP_ACTIVATES)
PIXTRAL = Tower(PIXTRAL_VISION, PIXTRAL_TOKENS, Activation("hidden_act", "gelu"))
ANY_TOWER = {
    "clip_vision_model": Tower(clip_vision(*BESIDE), CLIP_TOKENS, CLIP_ACTIVATES),
    "siglip_vision_model": SIGLIP,
    "pixtral": PIXTRAL,
}
