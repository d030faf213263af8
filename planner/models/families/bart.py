"""BART, mBART and Pegasus: an encoder and a decoder of the first transformers' kind, over one vocabulary table."""

from __future__ import annotations

from costmodel.spec import Embedding, FinalNorm, Head, Norm, Part
from planner.models.config import Config
from planner.models.families.checks import Activation
from planner.models.families.encoder_parts import (
    ENCODER_READS_AS_MANY,
    both_ways,
    dense,
    labels,
    layer_norm_block,
    pads_within,
    square,
    two_matrices,
)
from planner.models.families.parts import TIED, VOCAB
from planner.models.family import Family, One, RunSource, Stack
from planner.models.keys import Computed, Size, Sum, layers, part, tokens, width

HIDDEN = width("d_model", aliases=("hidden_size",))
ENCODER_HEADS = Size("encoder_attention_heads", aliases=("num_attention_heads",))
DECODER_HEADS = Size("decoder_attention_heads")
ENCODER_LAYERS = layers("encoder_layers", aliases=("num_hidden_layers",))
POSITIONS = tokens("max_position_embeddings", default=1024)
POSITIONS_FROM_2 = Sum((POSITIONS, 2))
"""The first two rows of the table of positions are never used."""
GELU = Activation("activation_function", "gelu")


def _unused_table(config: Config, layer: int) -> int:
    """Where nothing is tied, encoder and decoder have tables of their own, and the shared one serves nobody."""
    return 0 if TIED.read(config, layer) else int(VOCAB.read(config, layer) * HIDDEN.read(config, layer))


def _families(
    model_type: str,
    prefix: str,
    *,
    positions: Size | Sum,
    embedding_norm: Norm | None,
    ends_in_norm: bool,
    pad: int,
    num_labels: int | None = None,
) -> tuple[Family, ...]:
    """All classes of one model_type. `ends_in_norm`: norms stand before attention, so each stack ends in one.
    `num_labels` is that of the classifiers, None where the model_type has none."""
    norms = (Part.ENCODER, Part.HEAD)
    after_encoder, after_decoder = (
        (One(where, part(FinalNorm, hidden=HIDDEN, norm=Norm.LAYER), when=ends_in_norm),) for where in norms
    )
    embedding = part(Embedding, vocab=VOCAB, hidden=HIDDEN, num_positions=positions, norm=embedding_norm)
    encoder_block = layer_norm_block(
        both_ways(HIDDEN, ENCODER_HEADS),
        two_matrices(GELU, HIDDEN, width("encoder_ffn_dim")),
        HIDDEN,
        norms_output=not ends_in_norm,
    )
    decoder_block = layer_norm_block(
        both_ways(HIDDEN, DECODER_HEADS, causal=True),
        two_matrices(GELU, HIDDEN, width("decoder_ffn_dim")),
        HIDDEN,
        cross_attention=both_ways(HIDDEN, DECODER_HEADS, source_hidden=HIDDEN),
        num_norms=3,
        norms_output=not ends_in_norm,
    )
    both: tuple[RunSource, ...] = (
        One(Part.ENCODER, embedding.but(other_params=Computed(_unused_table))),
        Stack(encoder_block, ENCODER_LAYERS, Part.ENCODER),
        *after_encoder,
        One(Part.EMBEDDING, embedding.but(tied=TIED)),
        Stack(decoder_block, layers("decoder_layers")),
    )

    def family(name: str, *head: RunSource) -> Family:
        return Family(
            f"{prefix}{name}",
            model_type,
            (*both, *head),
            max_seq_len=POSITIONS,
            checks=(pads_within(default=pad),),
            note=ENCODER_READS_AS_MANY,
        )

    norm = Norm.LAYER if ends_in_norm else None
    generator = One(Part.HEAD, part(Head, vocab=VOCAB, hidden=HIDDEN, tied=TIED, norm=norm))
    plain = (family("ForConditionalGeneration", generator), family("Model", *after_decoder))
    if num_labels is None:
        return plain
    return (
        *plain,
        family("ForSequenceClassification", *after_decoder, square(HIDDEN), dense(labels(num_labels), HIDDEN)),
        family("ForQuestionAnswering", *after_decoder, dense(2, HIDDEN, tokens=None)),
    )


FAMILIES: tuple[Family, ...] = (
    *_families(
        "bart",
        "Bart",
        positions=POSITIONS_FROM_2,
        embedding_norm=Norm.LAYER,
        ends_in_norm=False,
        pad=1,
        num_labels=3,
    ),
    *_families(
        "mbart",
        "MBart",
        positions=POSITIONS_FROM_2,
        embedding_norm=Norm.LAYER,
        ends_in_norm=True,
        pad=1,
        num_labels=2,
    ),
    # Its table of positions holds sines, but as a parameter.
    *_families("pegasus", "Pegasus", positions=POSITIONS, embedding_norm=None, ends_in_norm=True, pad=0),
)
