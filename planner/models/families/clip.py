"""CLIP and SigLIP: a tower of text and one of vision that end in one space. Their vision towers serve others too."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from costmodel.spec import Block, Embedding, Norm, Part
from costmodel.spec.shown import shown
from planner.models.config import Config
from planner.models.families.checks import Activation
from planner.models.families.encoder_parts import both_ways, dense, inside, layer_norm_block, two_matrices
from planner.models.families.image_parts import last_norm, patch_filters, patches, stem
from planner.models.families.parts import HIDDEN, LAYERS, VOCAB
from planner.models.family import Family, One, RunSource, Stack, Within
from planner.models.keys import Flag, In, Size, Sum, part, tokens, width

CLIP_PATCHES = patches(224, 32, square=True)
CLIP_TOKENS = Sum((CLIP_PATCHES, 1))
SIGLIP_TOKENS = patches(224, 16, square=True)
PROJECTION = width("projection_dim", default=512)
CLIP_ACTIVATES = Activation("hidden_act", "quick_gelu")
SIGLIP_ACTIVATES = Activation("hidden_act", "gelu_pytorch_tanh")


def clip_vision(start: Part, blocks: Part, end: Part) -> tuple[RunSource, ...]:
    """CLIP's vision tower; it begins and ends in a norm."""
    return (
        stem(
            start,
            CLIP_TOKENS,
            patch_filters(32, bias=False, square=True),
            num_extra_tokens=1,
            norm=Norm.LAYER,
        ),
        Stack(layer_norm_block(both_ways(), two_matrices(CLIP_ACTIVATES)), LAYERS, blocks, CLIP_TOKENS),
        last_norm(end, CLIP_TOKENS),
    )


SIGLIP_POOLING = part(
    Block,
    hidden=HIDDEN,
    cross_attention=both_ways(source_hidden=HIDDEN, source_len=SIGLIP_TOKENS),
    feed_forward=two_matrices(SIGLIP_ACTIVATES),
    norm=Norm.LAYER,
    num_norms=1,
    other_params=HIDDEN,
)
"""One learned query that attends to all patches."""


def siglip_vision(start: Part, blocks: Part, end: Part) -> tuple[RunSource, ...]:
    """SigLIP's vision tower, with the head that pools it unless vision_use_head is off."""
    return (
        stem(start, SIGLIP_TOKENS, patch_filters(16, bias=True, square=True)),
        Stack(layer_norm_block(both_ways(), two_matrices(SIGLIP_ACTIVATES)), LAYERS, blocks, SIGLIP_TOKENS),
        last_norm(end, SIGLIP_TOKENS),
        One(end, SIGLIP_POOLING, num_tokens=1, when=Flag("vision_use_head", default=True)),
    )


ALONE = (Part.EMBEDDING, Part.BLOCKS, Part.HEAD)
BESIDE = (Part.VISION, Part.VISION, Part.VISION)
"""Parts of a vision tower that is a model, and of one beside the main stack."""


def _text(positions: Size, activation: Activation, *, causal: bool) -> tuple[RunSource, ...]:
    return (
        One(Part.EMBEDDING, part(Embedding, vocab=VOCAB, hidden=HIDDEN, num_positions=positions)),
        Stack(layer_norm_block(both_ways(causal=causal), two_matrices(activation)), LAYERS),
        last_norm(Part.HEAD, None),
    )


CLIP_POSITIONS = tokens("max_position_embeddings", default=77)
SIGLIP_POSITIONS = tokens("max_position_embeddings", default=64)
CLIP_TEXT = _text(CLIP_POSITIONS, CLIP_ACTIVATES, causal=True)
SIGLIP_TEXT = _text(SIGLIP_POSITIONS, SIGLIP_ACTIVATES, causal=False)
SIGLIP_PROJECTION = width("projection_size", default=HIDDEN)


CLIP_DEFAULTS: Mapping[str, Mapping[str, int]] = {
    "text_config": {
        "vocab_size": 49408,
        "hidden_size": 512,
        "intermediate_size": 2048,
        "num_hidden_layers": 12,
        "num_attention_heads": 8,
        "max_position_embeddings": 77,
    },
    "vision_config": {
        "hidden_size": 768,
        "intermediate_size": 3072,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "num_channels": 3,
        "image_size": 224,
        "patch_size": 32,
    },
}
"""What the class takes for sizes that text_config_dict and vision_config_dict leave out."""


def _is_told_once(config: Config) -> None:
    """Old configs hold their towers twice, and the class lets the second win, with defaults for what it leaves out.

    Where both say the same, nothing is lost by reading the first.
    """
    for name, defaults in CLIP_DEFAULTS.items():
        again = f"{name}_dict"
        if not config.has(again):
            continue
        first, second = config.section(name), config.section(again)
        for key, default in defaults.items():
            one, other = first.data.get(key, default), second.data.get(key, default)
            if one != other:
                config.fail(
                    f"{first.place(key)} is {shown(one)}, but {second.place(key)} is {shown(other)}"
                    f"{'' if key in second.data else ' (the default)'}, and the class reads the latter; remove {again}"
                )


def both_towers(check: Callable[[Config], None]) -> tuple[Callable[[Config], None], ...]:
    """The check on each tower."""
    return inside("text_config", check), inside("vision_config", check)


FAMILIES: tuple[Family, ...] = (
    Family(
        "CLIPModel",
        "clip",
        (
            Within("vision_config", clip_vision(*BESIDE)),
            dense(PROJECTION, In("vision_config", HIDDEN), where=Part.CONNECTOR, bias=False),
            Within("text_config", CLIP_TEXT),
            # With the temperature of the loss.
            dense(PROJECTION, In("text_config", HIDDEN), bias=False, other_params=1),
        ),
        max_seq_len=In("text_config", CLIP_POSITIONS),
        checks=(_is_told_once, *both_towers(CLIP_ACTIVATES)),
    ),
    Family("CLIPTextModel", "clip_text_model", CLIP_TEXT, max_seq_len=CLIP_POSITIONS, checks=(CLIP_ACTIVATES,)),
    Family(
        "CLIPTextModelWithProjection",
        "clip_text_model",
        (*CLIP_TEXT, dense(PROJECTION, bias=False)),
        max_seq_len=CLIP_POSITIONS,
        checks=(CLIP_ACTIVATES,),
    ),
    Family("CLIPVisionModel", "clip_vision_model", clip_vision(*ALONE), checks=(CLIP_ACTIVATES,)),
    Family(
        "CLIPVisionModelWithProjection",
        "clip_vision_model",
        (*clip_vision(*ALONE), dense(PROJECTION, bias=False)),
        checks=(CLIP_ACTIVATES,),
    ),
    Family(
        "SiglipModel",
        "siglip",
        (
            Within("vision_config", siglip_vision(*BESIDE)),
            # With the temperature and the bias of the loss.
            Within("text_config", (*SIGLIP_TEXT, dense(SIGLIP_PROJECTION, other_params=2))),
        ),
        max_seq_len=In("text_config", SIGLIP_POSITIONS),
        checks=both_towers(SIGLIP_ACTIVATES),
    ),
    Family(
        "SiglipTextModel",
        "siglip_text_model",
        (*SIGLIP_TEXT, dense(SIGLIP_PROJECTION)),
        max_seq_len=SIGLIP_POSITIONS,
        checks=(SIGLIP_ACTIVATES,),
    ),
    Family("SiglipVisionModel", "siglip_vision_model", siglip_vision(*ALONE), checks=(SIGLIP_ACTIVATES,)),
)
