"""Parts that many families share, under the names that most configs use."""

from __future__ import annotations

from typing import Any

from costmodel.spec import Attention, Block, Embedding, Head, Mlp, Norm, Part
from planner.models.family import One, RunSource, Stack
from planner.models.keys import Flag, KindSource, Quotient, Size, layers, part, vocabulary, width

HIDDEN = width("hidden_size")
LAYERS = layers("num_hidden_layers")
HEADS = Size("num_attention_heads")
FFN = width("intermediate_size")
VOCAB = vocabulary()

KV_HEADS = Size("num_key_value_heads", default=HEADS, null=HEADS)
"""One per attention head where nothing is given."""
HEAD_SPLIT = Quotient(HIDDEN, HEADS)
HEAD_DIM = width("head_dim", default=HEAD_SPLIT, null=HEAD_SPLIT)

TIED = Flag("tie_word_embeddings", default=True)
"""Of classes that say nothing else, transformers ties the head to the embedding."""
UNTIED = Flag("tie_word_embeddings", default=False)


def attention(**changes: Any) -> KindSource:
    """Grouped-query attention without biases."""
    return part(
        Attention,
        **{"hidden": HIDDEN, "num_heads": HEADS, "num_kv_heads": KV_HEADS, "head_dim": HEAD_DIM, **changes},
    )


def biased(source: Any) -> dict[str, Any]:
    """The biases of queries, keys and values by one switch."""
    return {"query_bias": source, "key_bias": source, "value_bias": source}


def mlp(**changes: Any) -> KindSource:
    """A gated feed-forward network without biases."""
    return part(Mlp, **{"hidden": HIDDEN, "ffn_hidden": FFN, **changes})


def block(mixer: Any, feed_forward: Any, **changes: Any) -> KindSource:
    """A block with two root-mean-square norms."""
    return part(Block, **{"hidden": HIDDEN, "mixer": mixer, "feed_forward": feed_forward, **changes})


def decoder(
    blocks: Any, tied: Any, *, norm: Norm = Norm.RMS, count: Size = LAYERS, **head: Any
) -> tuple[RunSource, ...]:
    """Embedding, blocks and head of a plain language model."""
    return (
        One(Part.EMBEDDING, part(Embedding, vocab=VOCAB, hidden=HIDDEN)),
        Stack(blocks, count),
        One(Part.HEAD, part(Head, **{"vocab": VOCAB, "hidden": HIDDEN, "tied": tied, "norm": norm, **head})),
    )
