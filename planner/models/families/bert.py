"""BERT and its like, encoders of text with the heads they are trained under: RoBERTa, DistilBERT, ModernBERT."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from costmodel.spec import Embedding, FinalNorm, Head, Norm, Part
from costmodel.spec.shown import shown
from planner.models.config import Config
from planner.models.families.checks import Activation
from planner.models.families.encoder_parts import (
    both_ways,
    dense,
    labels,
    layer_norm_block,
    pads_within,
    square,
    two_matrices,
)
from planner.models.families.parts import HEAD_SPLIT, HIDDEN, LAYERS, TIED, VOCAB
from planner.models.family import Family, One, RunSource, Stack
from planner.models.keys import Choose, Computed, Flag, PerLayer, Size, layers, part, tokens, width

POSITIONS_512 = tokens("max_position_embeddings", default=512)
TYPES = Size("type_vocab_size", default=2, least=0)
PAD = Size("pad_token_id", default=1, least=0)
GELU = Activation("hidden_act", "gelu")

BACKBONE: tuple[RunSource, ...] = (
    One(
        Part.EMBEDDING,
        part(Embedding, vocab=VOCAB, hidden=HIDDEN, num_positions=POSITIONS_512, num_types=TYPES, norm=Norm.LAYER),
    ),
    Stack(
        layer_norm_block(both_ways(causal=Flag("is_decoder", default=False)), two_matrices(GELU), norms_output=True),
        LAYERS,
    ),
)
CLASSIFIER = dense(labels())
PER_TOKEN = dense(labels(), tokens=None)
"""A classifier of every token, or of where an answer begins and ends."""


def _second_bias(config: Config, layer: int) -> int:
    """The class holds the bias of the vocabulary twice, which are one only where the tables are tied."""
    return 0 if TIED.read(config, layer) else int(VOCAB.read(config, layer))


MASKED_LM = One(
    Part.HEAD,
    part(
        Head,
        vocab=VOCAB,
        hidden=HIDDEN,
        tied=TIED,
        bias=True,
        norm=None,
        transforms=True,
        other_params=Computed(_second_bias),
    ),
)


def is_plain(config: Config) -> None:
    """The model attends to nothing but its own text."""
    if Flag("add_cross_attention", default=False).read(config, 0):
        config.fail(
            "add_cross_attention is true, but nothing says what the model attends to; give the class of the "
            "encoder-decoder that it is part of"
        )
    kind = config.data.get("position_embedding_type", "absolute")
    if kind not in ("absolute", None):
        config.assume(
            f"position_embedding_type is {shown(kind)}, but {config.architecture} has a table of absolute positions "
            "whatever it says."
        )


def _bert(name: str, *head: RunSource) -> Family:
    return Family(
        name,
        "bert",
        (*BACKBONE, *head),
        max_seq_len=POSITIONS_512,
        checks=(is_plain, pads_within()),
    )


BERT = (
    _bert("BertForMaskedLM", MASKED_LM),
    _bert("BertLMHeadModel", MASKED_LM),
    _bert("BertForPreTraining", square(), dense(2), MASKED_LM),
    _bert("BertModel", square()),
    _bert("BertForNextSentencePrediction", square(), dense(2)),
    _bert("BertForSequenceClassification", square(), CLASSIFIER),
    _bert("BertForMultipleChoice", square(), dense(1)),
    _bert("BertForTokenClassification", PER_TOKEN),
    _bert("BertForQuestionAnswering", PER_TOKEN),
)


def _positions_after_padding(config: Config, layer: int) -> int:
    """Positions are counted from the number of the padding token on, so the table serves fewer tokens."""
    rows, pad = POSITIONS_512.read(config, layer), PAD.read(config, layer)
    if rows <= pad + 1:
        config.fail(f"max_position_embeddings = {rows} leaves no position after pad_token_id = {pad}; give more")
    return int(rows - pad - 1)


def _roberta(model_type: str, prefix: str) -> tuple[Family, ...]:
    """RoBERTa and its like: BERT's blocks, but classifiers of their own instead of a pooler."""

    def family(name: str, *head: RunSource) -> Family:
        return Family(
            f"{prefix}{name}",
            model_type,
            (*BACKBONE, *head),
            max_seq_len=Computed(_positions_after_padding),
            checks=(is_plain, pads_within(default=1)),
        )

    return (
        family("ForMaskedLM", MASKED_LM),
        family("ForCausalLM", MASKED_LM),
        family("Model", square()),
        family("ForSequenceClassification", square(), CLASSIFIER),
        family("ForMultipleChoice", square(), dense(1)),
        family("ForTokenClassification", PER_TOKEN),
        family("ForQuestionAnswering", PER_TOKEN),
    )


DISTIL_WIDTH = width("dim", aliases=("hidden_size",))
DISTIL_HEADS = Size("n_heads", aliases=("num_attention_heads",))
DISTIL_BACKBONE: tuple[RunSource, ...] = (
    One(
        Part.EMBEDDING,
        part(Embedding, vocab=VOCAB, hidden=DISTIL_WIDTH, num_positions=POSITIONS_512, norm=Norm.LAYER),
    ),
    Stack(
        layer_norm_block(
            both_ways(DISTIL_WIDTH, DISTIL_HEADS),
            two_matrices(Activation("activation", "gelu"), DISTIL_WIDTH, width("hidden_dim")),
            DISTIL_WIDTH,
            norms_output=True,
        ),
        layers("n_layers", aliases=("num_hidden_layers",)),
    ),
)
DISTIL_PER_TOKEN = dense(labels(), DISTIL_WIDTH, tokens=None)


def _marks_two_ends(config: Config) -> None:
    """This one class refuses to mark anything but where an answer begins and ends."""
    if (count := labels().read(config, 0)) != 2:
        config.fail(f"num_labels or id2label says {count} classes, but {config.architecture} needs 2")


def _distilbert(name: str, *head: RunSource, checks: tuple[Callable[[Config], None], ...] = ()) -> Family:
    return Family(
        name,
        "distilbert",
        (*DISTIL_BACKBONE, *head),
        max_seq_len=POSITIONS_512,
        checks=(pads_within(), *checks),
    )


DISTILBERT = (
    _distilbert(
        "DistilBertForMaskedLM",
        One(
            Part.HEAD,
            part(Head, vocab=VOCAB, hidden=DISTIL_WIDTH, tied=TIED, bias=True, norm=None, transforms=True),
        ),
    ),
    _distilbert("DistilBertModel"),
    _distilbert("DistilBertForSequenceClassification", square(DISTIL_WIDTH), dense(labels(), DISTIL_WIDTH)),
    _distilbert("DistilBertForMultipleChoice", square(DISTIL_WIDTH), dense(1, DISTIL_WIDTH)),
    _distilbert("DistilBertForTokenClassification", DISTIL_PER_TOKEN),
    _distilbert("DistilBertForQuestionAnswering", DISTIL_PER_TOKEN, checks=(_marks_two_ends,)),
)

MODERN_NORM = Choose(Flag("norm_bias", default=False), {True: Norm.LAYER, False: Norm.LAYER_WITHOUT_BIAS})
MODERN_BIAS = Flag("attention_bias", default=False)


def _modern_layer_type(config: Config, layer: int) -> str:
    """Every third block sees everything, the first one included."""
    every = Size("global_attn_every_n_layers", default=3).read(config, layer)
    return "sliding_attention" if layer % every else "full_attention"


def _modern_window(config: Config, layer: int) -> int:
    """A token sees itself and half of local_attention on either side."""
    return 2 * (int(tokens("local_attention", default=128).read(config, layer)) // 2) + 1


MODERN_ATTENTION = both_ways(
    query_bias=MODERN_BIAS,
    key_bias=MODERN_BIAS,
    value_bias=MODERN_BIAS,
    output_bias=MODERN_BIAS,
    rotates_joint_projection=True,
    window=Choose(
        PerLayer("layer_types", LAYERS, ("full_attention", "sliding_attention"), default=Computed(_modern_layer_type)),
        {"full_attention": None, "sliding_attention": Computed(_modern_window)},
    ),
)
MODERN_BACKBONE: tuple[RunSource, ...] = (
    One(Part.EMBEDDING, part(Embedding, vocab=VOCAB, hidden=HIDDEN, norm=MODERN_NORM)),
    Stack(
        layer_norm_block(
            MODERN_ATTENTION,
            two_matrices(Activation("hidden_activation", "gelu"), gated=True, bias=Flag("mlp_bias", default=False)),
            norm=MODERN_NORM,
            # The norm of the embedding serves the first attention.
            num_norms=Computed(lambda _, layer: 2 if layer else 1),
        ),
        LAYERS,
    ),
)


def _modern_transform(tokens: Any) -> tuple[RunSource, ...]:
    """The matrix and norm that stand before every head."""
    return (
        dense(HIDDEN, tokens=tokens, bias=Flag("classifier_bias", default=False)),
        One(Part.HEAD, part(FinalNorm, hidden=HIDDEN, norm=MODERN_NORM), num_tokens=tokens),
    )


def _turns(config: Config) -> None:
    head_dim = HEAD_SPLIT.read(config, 0)
    if head_dim % 2:
        config.fail(f"hidden_size / num_attention_heads is {head_dim}, but rotary position embeddings need an even one")


def _modernbert(name: str, *head: RunSource) -> Family:
    final_norm = One(Part.HEAD, part(FinalNorm, hidden=HIDDEN, norm=MODERN_NORM))
    return Family(
        name,
        "modernbert",
        (*MODERN_BACKBONE, final_norm, *head),
        max_seq_len=tokens("max_position_embeddings", default=8192),
        checks=(_turns, pads_within(default=50283)),
    )


MODERNBERT = (
    _modernbert(
        "ModernBertForMaskedLM",
        *_modern_transform(None),
        One(
            Part.HEAD,
            part(Head, vocab=VOCAB, hidden=HIDDEN, tied=TIED, bias=Flag("decoder_bias", default=True), norm=None),
        ),
    ),
    _modernbert("ModernBertModel"),
    _modernbert("ModernBertForSequenceClassification", *_modern_transform(1), CLASSIFIER),
    _modernbert("ModernBertForMultipleChoice", *_modern_transform(1), dense(1)),
    _modernbert("ModernBertForTokenClassification", *_modern_transform(None), PER_TOKEN),
    _modernbert("ModernBertForQuestionAnswering", *_modern_transform(None), PER_TOKEN),
)

FAMILIES: tuple[Family, ...] = (
    *BERT,
    *_roberta("roberta", "Roberta"),
    *_roberta("xlm-roberta", "XLMRoberta"),
    *_roberta("camembert", "Camembert"),
    *DISTILBERT,
    *MODERNBERT,
)
