"""What a model has beyond a plain decoder, feature by feature: a framework's table names those its files can say.

A plain decoder is one stack of equal blocks between an embedding and a head; a block is full causal attention and a
gated dense feed-forward network, one after the other, each behind a root-mean-square norm, without biases.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from costmodel.spec import (
    Attention,
    Block,
    Embedding,
    Head,
    LatentAttention,
    Layer,
    Mamba,
    Mamba2,
    Mlp,
    ModelSpec,
    Moe,
    Norm,
    QkNorm,
    Traced,
)
from costmodel.spec.layers.attention import ScoreBias

RMS_NORMS = (Norm.RMS, Norm.RMS_GAIN_IN_FP32)


class Feature(StrEnum):
    """In the words of a refusal: `llama has ...`."""

    STACKS = "more than one stack of blocks between an embedding and a head"
    TRACED = "layers known by tracing only"
    CROSS_ATTENTION = "cross-attention"
    STATE_SPACE = "state-space layers"
    LINEAR_ATTENTION = "linear attention"
    LATENT_ATTENTION = "latent attention"
    BOTH_WAYS = "attention both ways"
    SINKS = "attention sinks"
    SCORE_BIASES = "biases on attention scores"
    QK_NORM = "norms of queries and keys"
    OTHER_QK_NORM = "norms of queries and keys other than one gain per dimension of a head"
    OTHER_ATTENTION = "attention with parts of its own (gates, shared or normalised values)"
    EXPERTS = "mixtures of experts"
    HALF_BLOCKS = "blocks without attention or feed-forward network"
    UNGATED = "feed-forward networks without a gate"
    BIASES = "biases in linear layers"
    OTHER_NORMS = "norms other than two root-mean-square norms a block"
    PARALLEL = "attention and feed-forward network side by side"
    POSITIONS = "a table of positions"
    OTHER_EMBEDDING = "an embedding with parts of its own (norm, types, another width)"
    OTHER_HEAD = "a head with parts of its own (bias, another norm or width)"
    NO_HEAD = "no head over the vocabulary"


def features_of(model: ModelSpec) -> tuple[Feature, ...]:
    """Those that `model` has, in the order they are listed."""
    found = {feature for run in model.runs for feature in _of_layer(run.layer)}
    if not model.is_single_stream:
        found.add(Feature.STACKS)
    if model.head is None:
        found.add(Feature.NO_HEAD)
    return tuple(feature for feature in Feature if feature in found)


def _of_layer(layer: Layer) -> Iterator[Feature]:
    match layer:
        case Block():
            yield from _of_block(layer)
        case Traced():
            yield Feature.TRACED
        case Embedding():
            if layer.num_positions:
                yield Feature.POSITIONS
            if layer != Embedding(vocab=layer.vocab, hidden=layer.hidden, num_positions=layer.num_positions):
                yield Feature.OTHER_EMBEDDING
        case Head():
            norm = layer.norm if layer.norm in RMS_NORMS else Norm.RMS
            if layer != Head(vocab=layer.vocab, hidden=layer.hidden, tied=layer.tied, norm=norm):
                yield Feature.OTHER_HEAD


def _of_block(block: Block) -> Iterator[Feature]:
    has = {
        Feature.CROSS_ATTENTION: block.cross_attention is not None,
        Feature.HALF_BLOCKS: block.mixer is None or block.feed_forward is None,
        Feature.OTHER_ATTENTION: block.beside is not None or block.layer_input > 0,
        Feature.OTHER_NORMS: block.norm not in RMS_NORMS or block.num_norms != 2 or block.norms_output,
        Feature.PARALLEL: block.parallel,
        Feature.EXPERTS: isinstance(block.feed_forward, Moe),
    }
    yield from (feature for feature, there in has.items() if there)
    if isinstance(block.feed_forward, Mlp):
        yield from [Feature.UNGATED] * (not block.feed_forward.gated) + [Feature.BIASES] * block.feed_forward.bias
    match block.mixer:
        case Attention():
            yield from _of_attention(block.mixer)
        case Mamba() | Mamba2():
            yield Feature.STATE_SPACE
        case LatentAttention():
            yield Feature.LATENT_ATTENTION
        case None:
            pass
        case _:
            yield Feature.LINEAR_ATTENTION


def _of_attention(attention: Attention) -> Iterator[Feature]:
    sizes = {name: getattr(attention, name) for name in ("hidden", "num_heads", "num_kv_heads", "head_dim", "window")}
    told = ("query_bias", "key_bias", "value_bias", "output_bias", "qk_norm", "qk_norm_kind", "causal", "has_sinks")
    scores = ("score_bias", "position_buckets", "linear_biases")
    # How a class lays tensors out is memory, and no part that a framework would have to build.
    laid_out = ("rotates_joint_projection", "repeats_kv")
    others = {name: getattr(attention, name) for name in told + scores + laid_out}
    has_scores = attention.score_bias is not ScoreBias.NONE or attention.linear_biases
    plain_norm = attention.qk_norm is QkNorm.HEAD and attention.qk_norm_kind in RMS_NORMS
    has = {
        Feature.BIASES: any(getattr(attention, name) for name in told[:4]),
        Feature.QK_NORM: plain_norm,
        Feature.OTHER_QK_NORM: attention.qk_norm is not QkNorm.NONE and not plain_norm,
        Feature.BOTH_WAYS: not attention.causal,
        Feature.SINKS: attention.has_sinks,
        Feature.SCORE_BIASES: has_scores,
        Feature.OTHER_ATTENTION: attention != Attention(**sizes, **others),
    }
    yield from (feature for feature, there in has.items() if there)
