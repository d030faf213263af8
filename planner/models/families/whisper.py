"""Whisper: an encoder of sound whose frames a decoder of text attends to."""

from __future__ import annotations

from typing import Any

from costmodel.spec import Dense, Embedding, Filter, FinalNorm, Head, Norm, Part, Stem
from planner.models.config import Config
from planner.models.families.checks import Activation
from planner.models.families.encoder_parts import (
    both_ways,
    dense,
    labels,
    layer_norm_block,
    pads_within,
    two_matrices,
)
from planner.models.families.parts import TIED, VOCAB
from planner.models.family import Family, One, RunSource, Stack
from planner.models.keys import Computed, Flag, KindSource, Size, layers, part, tokens, width

HIDDEN = width("d_model", aliases=("hidden_size",))
ENCODER_HEADS = Size("encoder_attention_heads", aliases=("num_attention_heads", "num_key_value_heads"))
ENCODER_LAYERS = layers("encoder_layers", aliases=("num_hidden_layers",))
FRAMES = tokens("max_source_positions", default=1500)
"""Of one window of sound (30 s), after the stem; the encoder always sees a whole window."""
POSITIONS = tokens("max_target_positions", default=448)
KERNEL = 3
GELU = Activation("activation_function", "gelu")


def two_convolutions(hidden: Size, mel_bins: Size) -> Computed:
    """The stem's filters: over the bins of the spectrum, then over the channels, two frames becoming one."""

    def read(config: Config, layer: int) -> tuple[Filter, ...]:
        channels = hidden.read(config, layer)
        return (
            Filter(fan_in=KERNEL * mel_bins.read(config, layer), out=channels, outputs_per_token=2),
            Filter(fan_in=KERNEL * channels, out=channels),
        )

    return Computed(read)


def listens(hidden: Size, heads: Size, **changes: Any) -> KindSource:
    """Attention of Whisper: no bias of keys, which would change no weight."""
    return both_ways(hidden, heads, key_bias=False, **changes)


def tower(
    where: Part, stack: Part, hidden: Size, heads: Size, ffn: Size, count: Size, mel_bins: Size, *, learns: bool = True
) -> tuple[RunSource, ...]:
    """The encoder: stem, blocks and norm; the blocks in part `stack`, the others in `where`.

    `learns` says whether the table of positions, which is computed, is among the parameters.
    """
    return (
        One(
            where,
            part(
                Stem, hidden=hidden, filters=two_convolutions(hidden, mel_bins), num_positions=FRAMES if learns else 0
            ),
            num_tokens=FRAMES,
        ),
        Stack(layer_norm_block(listens(hidden, heads), two_matrices(GELU, hidden, ffn), hidden), count, stack, FRAMES),
        One(where, part(FinalNorm, hidden=hidden, norm=Norm.LAYER), num_tokens=FRAMES),
    )


def _encoder(where: Part, stack: Part) -> tuple[RunSource, ...]:
    return tower(
        where, stack, HIDDEN, ENCODER_HEADS, width("encoder_ffn_dim"), ENCODER_LAYERS, Size("num_mel_bins", default=80)
    )


DECODER_HEADS = Size("decoder_attention_heads")
DECODER: tuple[RunSource, ...] = (
    One(Part.EMBEDDING, part(Embedding, vocab=VOCAB, hidden=HIDDEN, num_positions=POSITIONS)),
    Stack(
        layer_norm_block(
            listens(HIDDEN, DECODER_HEADS, causal=True),
            two_matrices(GELU, HIDDEN, width("decoder_ffn_dim")),
            HIDDEN,
            cross_attention=listens(HIDDEN, DECODER_HEADS, source_hidden=HIDDEN, source_len=FRAMES),
            num_norms=3,
        ),
        layers("decoder_layers"),
    ),
)
BOTH = (*_encoder(Part.ENCODER, Part.ENCODER), *DECODER)


def _layer_weights(config: Config, layer: int) -> int:
    """One weight for each block's output and for the stem's, where the classifier reads a weighted sum of them."""
    summed = Flag("use_weighted_layer_sum", default=False).read(config, layer)
    return int(ENCODER_LAYERS.read(config, layer)) + 1 if summed else 0


CLASSIFIER_WIDTH = width("classifier_proj_size", default=256)
CHECKS = (pads_within(default=50256),)

FAMILIES: tuple[Family, ...] = (
    Family(
        "WhisperForConditionalGeneration",
        "whisper",
        (*BOTH, One(Part.HEAD, part(Head, vocab=VOCAB, hidden=HIDDEN, tied=TIED, norm=Norm.LAYER))),
        max_seq_len=POSITIONS,
        checks=CHECKS,
    ),
    Family(
        "WhisperModel",
        "whisper",
        (*BOTH, One(Part.HEAD, part(FinalNorm, hidden=HIDDEN, norm=Norm.LAYER))),
        max_seq_len=POSITIONS,
        checks=CHECKS,
    ),
    Family(
        "WhisperForAudioClassification",
        "whisper",
        (
            *_encoder(Part.EMBEDDING, Part.BLOCKS),
            One(
                Part.HEAD,
                part(Dense, hidden=HIDDEN, out=CLASSIFIER_WIDTH, bias=True, other_params=Computed(_layer_weights)),
                num_tokens=FRAMES,
            ),
            dense(labels(), CLASSIFIER_WIDTH),
        ),
        max_seq_len=FRAMES,
    ),
)
