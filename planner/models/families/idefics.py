"""Idefics 3 and SmolVLM: SigLIP's tower, whose patches one matrix packs into tokens of a Llama."""

from __future__ import annotations

from costmodel.spec import Dense, Part
from planner.models.families.clip import SIGLIP_ACTIVATES
from planner.models.families.encoder_parts import both_ways, inside, layer_norm_block, two_matrices
from planner.models.families.image_parts import last_norm, patch_filters, patches, stem
from planner.models.families.language import ONE_IMAGE, Language
from planner.models.families.llava import ANY_TEXT
from planner.models.families.parts import HIDDEN, LAYERS
from planner.models.family import Family, One, Stack, Within
from planner.models.keys import Computed, In, Size, part

PATCH = 32
PATCHES = patches(224, PATCH, square=True)
TOWER = (
    stem(Part.VISION, PATCHES, patch_filters(PATCH, bias=True, square=True)),
    Stack(layer_norm_block(both_ways(), two_matrices(SIGLIP_ACTIVATES)), LAYERS, Part.VISION, PATCHES),
    last_norm(Part.VISION, PATCHES),
)
SCALE = Size("scale_factor", default=2, most=64)
"""Patches along the edge of a square that becomes one token."""
PACKED_WIDTH = Computed(
    lambda config, layer: HIDDEN.read(config.section("vision_config"), layer) * SCALE.read(config, layer) ** 2
)
PACKED_TOKENS = Computed(
    lambda config, layer: max(1, In("vision_config", PATCHES).read(config, layer) // SCALE.read(config, layer) ** 2)
)
LANGUAGE = Language(ANY_TEXT, "llama")


def _family(architecture: str, model_type: str) -> Family:
    packing = part(Dense, hidden=PACKED_WIDTH, out=LANGUAGE.width)
    return Family(
        architecture,
        model_type,
        (Within("vision_config", TOWER), One(Part.CONNECTOR, packing, num_tokens=PACKED_TOKENS), LANGUAGE),
        max_seq_len=LANGUAGE.longest,
        checks=(inside("vision_config", SIGLIP_ACTIVATES),),
        note=ONE_IMAGE,
    )


FAMILIES: tuple[Family, ...] = (
    _family("Idefics3ForConditionalGeneration", "idefics3"),
    _family("SmolVLMForConditionalGeneration", "smolvlm"),
)
