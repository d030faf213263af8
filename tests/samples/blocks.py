"""Blocks of plain decoders, by flat sizes."""

from __future__ import annotations

from typing import Any

from costmodel.spec import Attention, Block, Mlp, QkNorm


def dense_block(
    hidden: int, num_heads: int, num_kv_heads: int, head_dim: int, ffn_hidden: int, **changes: Any
) -> Block:
    """Attention and a feed-forward network; `gated`, `mlp_bias`, biases, `window` and `qk_norm` as told."""
    qkv_bias = changes.get("qkv_bias", False)
    return Block(
        hidden=hidden,
        mixer=Attention(
            hidden=hidden,
            num_heads=num_heads,
            num_kv_heads=num_kv_heads,
            head_dim=head_dim,
            query_bias=qkv_bias,
            key_bias=qkv_bias,
            value_bias=qkv_bias,
            output_bias=changes.get("output_bias", False),
            window=changes.get("window"),
            qk_norm=QkNorm.HEAD if changes.get("qk_norm") else QkNorm.NONE,
        ),
        feed_forward=Mlp(
            hidden=hidden, ffn_hidden=ffn_hidden, gated=changes.get("gated", True), bias=changes.get("mlp_bias", False)
        ),
    )


def with_sizes(block: Block, *, ffn_hidden: int | None = None, **attention: Any) -> Block:
    """`block` with other sizes of its attention, or another width of its feed-forward network."""
    mlp = mlp_of(block)
    return Block(
        hidden=block.hidden,
        mixer=attention_of(block).model_copy(update=attention),
        feed_forward=mlp if ffn_hidden is None else mlp.model_copy(update={"ffn_hidden": ffn_hidden}),
    )


def attention_of(block: object) -> Attention:
    """The attention of a plain block."""
    assert isinstance(block, Block)
    assert isinstance(block.mixer, Attention)
    return block.mixer


def mlp_of(block: object) -> Mlp:
    """The feed-forward network of a plain block."""
    assert isinstance(block, Block)
    assert isinstance(block.feed_forward, Mlp)
    return block.feed_forward
