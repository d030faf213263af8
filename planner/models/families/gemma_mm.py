"""Gemma 3 and 4 with their towers: vision, and in Gemma 4 sound."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from costmodel.spec import Attention, Block, Dense, Filter, LayerRun, Mlp, Norm, Part, QkNorm, Stem
from costmodel.spec.shown import shown
from planner.models.config import Config
from planner.models.families import gemma, gemma4
from planner.models.families.checks import Activation
from planner.models.families.image_parts import stem
from planner.models.families.language import ONE_IMAGE_BOTH_WAYS, Language, by_model_type
from planner.models.families.parts import HEAD_SPLIT, HEADS, HIDDEN, LAYERS, TIED, attention, block, mlp
from planner.models.families.towers import SIGLIP, Vision
from planner.models.family import Family, One, RunSource, Stack, Within
from planner.models.keys import Computed, In, Size, Source, Times, part, tokens, width

GEMMA3 = Language({"gemma3_text": by_model_type(*gemma.FAMILIES)["gemma3_text"]}, "gemma3_text", tied=TIED)
GEMMA3_VISION = Vision({"siglip_vision_model": SIGLIP}, "siglip_vision_model")
GEMMA4 = Language(by_model_type(*gemma4.FAMILIES), "gemma4_text", tied=TIED)


def _pooled_tokens(config: Config, layer: int) -> int:
    """Tokens of an image in the text: a square that the patches are averaged down to."""
    asked = int(tokens("mm_tokens_per_image", default=256).read(config, layer))
    patches = GEMMA3_VISION.num_tokens.read(config, layer)
    if math.isqrt(asked) ** 2 != asked or asked > patches:
        config.fail(
            f"{config.place('mm_tokens_per_image')} is {asked}, but must be a square number of at most {patches}, the "
            f"patches of an image ({config.place('vision_config.image_size')} / "
            f"{config.place('vision_config.patch_size')}, squared)"
        )
    return asked


POOLING = Size("pooling_kernel_size", default=3)
SOFT_TOKENS = tokens("default_output_length", default=280)
PATCHES = Computed(lambda config, layer: SOFT_TOKENS.read(config, layer) * POOLING.read(config, layer) ** 2)
PATCH = Size("patch_size", default=16)
NUM_COLOURS = 3
"""Which the class fixes."""


def _pixels(config: Config, layer: int) -> tuple[Filter, ...]:
    return (Filter(fan_in=NUM_COLOURS * PATCH.read(config, layer) ** 2, out=HIDDEN.read(config, layer), bias=False),)


VISION4: tuple[RunSource, ...] = (
    stem(
        Part.VISION,
        PATCHES,
        Computed(_pixels),
        # One table for rows, one for columns.
        num_positions=Times(2, tokens("position_embedding_size", default=10_240)),
    ),
    Stack(
        block(
            attention(
                num_kv_heads=Size("num_key_value_heads", default=12),
                head_dim=width("head_dim", default=64),
                qk_norm=QkNorm.HEAD,
                qk_norm_kind=gemma.NORM,
                normalises_values=True,
                causal=False,
            ),
            mlp(),
            norm=gemma.NORM,
            num_norms=4,
        ),
        LAYERS,
        Part.VISION,
        PATCHES,
    ),
)

SECONDS, TOKENS_PER_SECOND = 30, 25
KERNEL = 3
LEFT = Size("attention_context_left", default=13)
RIGHT = Size("attention_context_right", default=0, least=0)
AUDIO_OUT = width("output_proj_dims", default=1536)
AUDIO_FFN = Times(4, HIDDEN)


def _audio_tokens(config: Config, _: int) -> int:
    config.assume(
        f"{config.place('')[:-1]} gives no length of recordings: {SECONDS} s, {SECONDS * TOKENS_PER_SECOND} tokens."
    )
    return SECONDS * TOKENS_PER_SECOND


AUDIO_TOKENS = Computed(_audio_tokens)


def _channels(config: Config) -> tuple[int, int]:
    """Of the two convolutions over frames and bins; as many bins as the first has channels."""
    value = config.data.get("subsampling_conv_channels", [128, 32])
    if (
        not isinstance(value, list)
        or len(value) != 2
        or any(type(entry) is not int or not 4 <= entry <= 2**16 for entry in value)
    ):
        config.fail(
            f"{config.place('subsampling_conv_channels')} is {shown(value)}, but must be two whole numbers from 4 to "
            f"{2**16}"
        )
    return value[0], value[1]


def _sound(config: Config, layer: int) -> tuple[Filter, ...]:
    """Two convolutions halve frames and bins each, and a matrix joins what is left of a frame."""
    first, second = _channels(config)
    return (
        Filter(fan_in=KERNEL**2, out=first, bias=False, outputs_per_token=2 * (first // 2)),
        Filter(fan_in=KERNEL**2 * first, out=second, bias=False, outputs_per_token=first // 4),
        Filter(fan_in=first // 4 * second, out=HIDDEN.read(config, layer), bias=False),
    )


NETWORK = part(Mlp, hidden=HIDDEN, ffn_hidden=AUDIO_FFN, gated=False)


def _attention(config: Config, layer: int) -> Attention:
    """Over a few tokens, with a matrix for their relative positions and a learned scale per dimension."""
    hidden, heads = HIDDEN.read(config, layer), HEADS.read(config, layer)
    head_dim, right = HEAD_SPLIT.read(config, layer), RIGHT.read(config, layer)
    return Attention(
        hidden=hidden,
        num_heads=heads,
        num_kv_heads=heads,
        head_dim=head_dim,
        causal=right == 0,
        window=LEFT.read(config, layer) + right,
        other_params=hidden**2 + head_dim,
    )


CONFORMER = (
    part(Block, hidden=HIDDEN, feed_forward=NETWORK, norm=gemma.NORM),
    part(
        Block,
        hidden=HIDDEN,
        mixer=Computed(_attention),
        # The convolution stands between a gated matrix and one back; its own kernel spans a few tokens per channel.
        feed_forward=part(Mlp, hidden=HIDDEN, ffn_hidden=HIDDEN),
        norm=gemma.NORM,
        num_norms=4,
        other_params=Computed(
            lambda config, layer: HIDDEN.read(config, layer) * Size("conv_kernel_size", default=5).read(config, layer)
        ),
    ),
    part(Block, hidden=HIDDEN, feed_forward=NETWORK, norm=gemma.NORM, num_norms=3),
)
"""A block of a Conformer (arXiv 2005.08100): network, attention, convolution, network."""


@dataclass(frozen=True)
class Conformers:
    """The blocks of the tower of sound, three of ours for each."""

    def runs(self, config: Config) -> Iterator[LayerRun]:
        """One after the other."""
        num_tokens = AUDIO_TOKENS.read(config, 0)
        parts = [layer.read(config, 0) for layer in CONFORMER]
        for _ in range(LAYERS.read(config, 0)):
            for layer in parts:
                yield LayerRun(part=Part.AUDIO, layer=layer, num_tokens=num_tokens)


AUDIO4: tuple[RunSource, ...] = (
    One(
        Part.AUDIO,
        part(
            Stem,
            hidden=HIDDEN,
            filters=Computed(_sound),
            # Of the norms behind the two convolutions.
            other_params=Computed(lambda config, _: sum(_channels(config))),
        ),
        num_tokens=AUDIO_TOKENS,
    ),
    Conformers(),
    One(Part.AUDIO, part(Dense, hidden=HIDDEN, out=AUDIO_OUT, bias=True), num_tokens=AUDIO_TOKENS),
)


@dataclass(frozen=True)
class IfGiven:
    """Layers that are there only where the object `section` is."""

    section: str
    parts: tuple[RunSource, ...]

    def runs(self, config: Config) -> Iterator[LayerRun]:
        """The layers of all parts, read on the outer config."""
        if config.has(self.section):
            for source in self.parts:
                yield from source.runs(config)


def _embedder(section: str, width_there: Source, num_tokens: Source) -> One:
    """Into the width of the text, after a norm that learns nothing."""
    return One(
        Part.CONNECTOR,
        part(Dense, hidden=In(section, width_there), out=GEMMA4.width, norm=Norm.FIXED),
        num_tokens=In(section, num_tokens),
    )


def _checks_towers(config: Config) -> None:
    for section, key, default in (
        ("vision_config", "hidden_activation", "gelu_pytorch_tanh"),
        ("audio_config", "hidden_act", "silu"),
    ):
        if config.has(section):
            Activation(key, default)(config.section(section))


FAMILIES: tuple[Family, ...] = (
    Family(
        "Gemma3ForConditionalGeneration",
        "gemma3",
        (
            GEMMA3_VISION,
            One(
                Part.CONNECTOR,
                part(Dense, hidden=In("vision_config", HIDDEN), out=GEMMA3.width, norm=Norm.RMS),
                num_tokens=Computed(_pooled_tokens),
            ),
            GEMMA3,
        ),
        max_seq_len=GEMMA3.longest,
        note=ONE_IMAGE_BOTH_WAYS,
    ),
    Family(
        "Gemma4ForConditionalGeneration",
        "gemma4",
        (
            IfGiven(
                "vision_config", (Within("vision_config", VISION4), _embedder("vision_config", HIDDEN, SOFT_TOKENS))
            ),
            IfGiven(
                "audio_config", (Within("audio_config", AUDIO4), _embedder("audio_config", AUDIO_OUT, AUDIO_TOKENS))
            ),
            GEMMA4,
        ),
        max_seq_len=GEMMA4.longest,
        checks=(_checks_towers,),
        note=ONE_IMAGE_BOTH_WAYS,
    ),
)
