"""T5, mT5 and UMT5: an encoder and a decoder over one vocabulary table, with learned biases by relative position."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from costmodel.spec import Activation, Attention, Block, Embedding, FinalNorm, Head, Mlp, Norm, Part, ScoreBias
from costmodel.spec.shown import shown
from planner.models.config import Config
from planner.models.families.checks import PARAMETER_FREE, WRITTEN_OUT
from planner.models.families.encoder_parts import ENCODER_READS_AS_MANY, dense, labels, square
from planner.models.families.parts import VOCAB
from planner.models.family import Family, One, RunSource, Stack
from planner.models.keys import Computed, Flag, KindSource, Size, layers, part, width

HIDDEN = width("d_model", aliases=("hidden_size",))
HEADS = Size("num_heads", aliases=("num_attention_heads",))
HEAD_DIM = width("d_kv", default=64, aliases=("head_dim",))
ENCODER_LAYERS = layers("num_layers", aliases=("num_hidden_layers",))
DECODER_LAYERS = layers("num_decoder_layers", default=ENCODER_LAYERS)
BUCKETS = Size("relative_attention_num_buckets", default=32)
BUCKETS_IN_FIRST = Computed(lambda config, layer: 0 if layer else BUCKETS.read(config, layer))
"""The first block of a stack learns the biases, the others use them again."""
ZEROS_IN_FIRST = Computed(lambda _, layer: ScoreBias.ZEROS_OF_EARLIER if layer else ScoreBias.ZEROS)
"""Cross-attention has none to learn, but the classes add zeros, which they hand on from block to block with them."""


NORM = Norm.RMS_GAIN_IN_FP32
"""It keeps as much: the input besides its copy in fp32, and the normalised numbers."""


def _gated(default: str) -> Computed:
    """Whether feed_forward_proj says so: `gated-` stands before the activation."""

    def read(config: Config, _: int) -> bool:
        text = config.data.get("feed_forward_proj", default)
        if not isinstance(text, str) or text.removeprefix("gated-") not in PARAMETER_FREE:
            config.fail(
                f"feed_forward_proj is {shown(text)}, but must be an activation, with gated- before it or not, e.g. "
                "relu or gated-gelu"
            )
        gated = text.startswith("gated-")
        # Derived from the other; the class believes it where it is given.
        if "is_gated_act" in config.data and bool(config.data["is_gated_act"]) != gated:
            config.fail(
                f"is_gated_act is {shown(config.data['is_gated_act'])}, but feed_forward_proj is {shown(text)}; they "
                "must agree"
            )
        return gated

    return Computed(read)


def _activation(default: str) -> Computed:
    """What feed_forward_proj names; the class takes `gated-gelu` for the one that is written out."""

    def read(config: Config, _: int) -> Activation:
        text = str(config.data.get("feed_forward_proj", default))
        return WRITTEN_OUT.get("gelu_new" if text == "gated-gelu" else text.removeprefix("gated-"), Activation.KERNEL)

    return Computed(read)


def _attention(**changes: Any) -> KindSource:
    return part(
        Attention, **{"hidden": HIDDEN, "num_heads": HEADS, "num_kv_heads": HEADS, "head_dim": HEAD_DIM, **changes}
    )


def _table(where: Part, *, tied: bool) -> One:
    return One(where, part(Embedding, vocab=VOCAB, hidden=HIDDEN, tied=tied))


def _final_norm(where: Part) -> One:
    return One(where, part(FinalNorm, hidden=HIDDEN, norm=NORM))


def _is_no_decoder(config: Config) -> None:
    """The encoders alone would be built with cross-attention that has nothing to read."""
    if Flag("is_decoder", default=False).read(config, 0):
        config.fail(
            f"is_decoder is true, but {config.architecture} is an encoder alone, without anything for its "
            "cross-attention to read; give false, or a class with a decoder"
        )


def _families(
    model_type: str,
    prefix: str,
    proj: str,
    buckets: Computed | Size = BUCKETS_IN_FIRST,
    zeros: Computed | ScoreBias = ZEROS_IN_FIRST,
) -> tuple[Family, ...]:
    """All classes of one model_type. `proj` is its feed_forward_proj where none is given."""
    mlp = part(Mlp, hidden=HIDDEN, ffn_hidden=width("d_ff"), gated=_gated(proj), activation=_activation(proj))
    encoder_block = part(
        Block,
        hidden=HIDDEN,
        mixer=_attention(causal=False, position_buckets=buckets, score_bias=ScoreBias.LEARNED),
        feed_forward=mlp,
        norm=NORM,
    )
    decoder_block = part(
        Block,
        hidden=HIDDEN,
        mixer=_attention(position_buckets=buckets, score_bias=ScoreBias.LEARNED),
        cross_attention=_attention(causal=False, source_hidden=HIDDEN, score_bias=zeros),
        feed_forward=mlp,
        norm=NORM,
        num_norms=3,
    )
    encoder: tuple[RunSource, ...] = (
        _table(Part.ENCODER, tied=False),
        Stack(encoder_block, ENCODER_LAYERS, Part.ENCODER),
        _final_norm(Part.ENCODER),
    )
    both: tuple[RunSource, ...] = (
        *encoder,
        _table(Part.EMBEDDING, tied=True),
        Stack(decoder_block, DECODER_LAYERS),
    )
    alone: tuple[RunSource, ...] = (
        _table(Part.EMBEDDING, tied=False),
        Stack(encoder_block, ENCODER_LAYERS),
        _final_norm(Part.HEAD),
    )
    # The classes tie the head to the embedding whatever tie_word_embeddings says.
    language_model = One(Part.HEAD, part(Head, vocab=VOCAB, hidden=HIDDEN, tied=True, norm=NORM))
    final_norm = _final_norm(Part.HEAD)

    def family(name: str, *runs: RunSource) -> Family:
        note = ENCODER_READS_AS_MANY if runs[: len(both)] == both else ""
        checks = (_is_no_decoder,) if runs[: len(alone)] == alone else ()
        return Family(f"{prefix}{name}", model_type, runs, checks=checks, note=note)

    return (
        family("ForConditionalGeneration", *both, language_model),
        family("Model", *both, final_norm),
        family("EncoderModel", *alone),
        family("ForSequenceClassification", *both, final_norm, square(HIDDEN), dense(labels(), HIDDEN)),
        family("ForQuestionAnswering", *both, final_norm, dense(labels(), HIDDEN, tokens=None)),
        family("ForTokenClassification", *alone, dense(labels(), HIDDEN, tokens=None)),
    )


T5 = _families("t5", "T5", "relu")

FAMILIES: tuple[Family, ...] = (
    *T5,
    # The name that the class for conditional generation bore before.
    replace(T5[0], architecture="T5WithLMHeadModel"),
    *_families("mt5", "MT5", "gated-gelu"),
    *_families("umt5", "UMT5", "gated-gelu", BUCKETS, ScoreBias.ZEROS),
)
