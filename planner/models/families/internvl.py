"""InternVL 2.5 and 3 as transformers has them: a ViT with learned scales, whose patches are packed by four."""

from __future__ import annotations

from costmodel.spec import Dense, Norm, Part, QkNorm
from costmodel.spec.shown import shown
from planner.models.config import Config
from planner.models.families.checks import Activation
from planner.models.families.encoder_parts import both_ways, inside, layer_norm_block, two_matrices
from planner.models.families.image_parts import last_norm, patch_filters, patches, stem
from planner.models.families.language import ONE_IMAGE, PROJECTS, Language
from planner.models.families.llava import ANY_TEXT
from planner.models.families.parts import HIDDEN, LAYERS, TIED, biased
from planner.models.family import Family, One, Stack, Within
from planner.models.keys import Choose, Computed, Flag, In, Source, Sum, Times, Word, part

GELU = Activation("hidden_act", "gelu")
PATCHES = patches(448, 14)
TOKENS = Sum((PATCHES, 1))
QK_NORM = Choose(Flag("use_qk_norm", default=False), {True: QkNorm.WIDTH, False: QkNorm.NONE})
NORM = Choose(
    Word("norm_type", default="layer_norm", null="layer_norm", known=("layer_norm", "rms_norm")),
    {"layer_norm": Norm.LAYER, "rms_norm": Norm.RMS},
)
POSITIONS = Choose(Flag("use_absolute_position_embeddings", default=True), {True: TOKENS, False: 0})
MASK = Choose(Flag("use_mask_token", default=False), {True: HIDDEN, False: 0})
LAST_NORM = Flag("use_mean_pooling", default=True)

TOWER = (
    stem(
        Part.VISION,
        TOKENS,
        patch_filters(14, bias=True),
        num_positions=POSITIONS,
        num_extra_tokens=1,
        other_params=MASK,
    ),
    Stack(
        layer_norm_block(
            both_ways(qk_norm=QK_NORM, **biased(Flag("attention_bias", default=False))),
            two_matrices(GELU),
            norm=NORM,
            # A learned scale on what each half adds.
            other_params=Times(2, HIDDEN),
        ),
        LAYERS,
        Part.VISION,
        TOKENS,
    ),
    One(
        Part.VISION,
        last_norm(Part.VISION, TOKENS).layer,
        num_tokens=TOKENS,
        when=Choose(LAST_NORM, {True: False, False: True}),
    ),
)


def _packed(config: Config, _: int) -> int:
    """Patches that become one token."""
    ratio = config.data.get("downsample_ratio", 0.5)
    if type(ratio) not in (int, float) or not 1 / 64 <= ratio <= 1:
        config.fail(f"{config.place('downsample_ratio')} is {shown(ratio)}, but must be a number from 1/64 to 1")
    return int(1 / ratio) ** 2


PACKED_WIDTH: Source = Computed(
    lambda config, layer: In("vision_config", HIDDEN).read(config, layer) * _packed(config, 0)
)
PACKED_TOKENS: Source = Computed(
    lambda config, layer: max(1, In("vision_config", PATCHES).read(config, layer) // _packed(config, 0))
)
LANGUAGE = Language(ANY_TEXT, "qwen2", tied=TIED)

FAMILIES: tuple[Family, ...] = (
    Family(
        "InternVLForConditionalGeneration",
        "internvl",
        (
            Within("vision_config", TOWER),
            One(
                Part.CONNECTOR,
                part(Dense, hidden=PACKED_WIDTH, out=LANGUAGE.width, bias=True, norm=Norm.LAYER),
                num_tokens=PACKED_TOKENS,
            ),
            One(
                Part.CONNECTOR,
                part(Dense, hidden=LANGUAGE.width, out=LANGUAGE.width, bias=True),
                num_tokens=PACKED_TOKENS,
            ),
            LANGUAGE,
        ),
        max_seq_len=LANGUAGE.longest,
        checks=(PROJECTS, inside("vision_config", GELU)),
        note=ONE_IMAGE,
    ),
)
