"""The dense decoder block: attention (multi-head or grouped-query) and a feed-forward network, pre-norm."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from costmodel.spec.base import Spec
from costmodel.spec.operations import CausalAttention, Elementwise, Gemm, Operation


class DenseBlock(Spec):
    """One pre-norm decoder block; tensor parallel splits heads and ffn columns (Megatron, arXiv 1909.08053)."""

    kind: Literal["dense_block"] = "dense_block"
    hidden: int = Field(gt=0)
    num_heads: int = Field(gt=0)
    num_kv_heads: int = Field(gt=0)
    head_dim: int = Field(gt=0)
    ffn_hidden: int = Field(gt=0)
    gated_mlp: bool = True
    qkv_bias: bool = False
    output_bias: bool = False
    mlp_bias: bool = False
    qk_norm: bool = False

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.num_heads % self.num_kv_heads:
            raise ValueError(f"num_heads {self.num_heads} is not a multiple of num_kv_heads {self.num_kv_heads}")
        return self

    @property
    def query_width(self) -> int:
        """Width of all queries together (differs from `hidden` where head_dim is free)."""
        return self.num_heads * self.head_dim

    @property
    def kv_width(self) -> int:
        """Width of all keys, and of all values."""
        return self.num_kv_heads * self.head_dim

    def num_params(self, tp: int = 1) -> int:
        """Parameters held by each of `tp` ranks; norms and the biases after a reduction are on every rank."""
        qkv = self.query_width + 2 * self.kv_width
        up = (2 if self.gated_mlp else 1) * self.ffn_hidden
        split = self.hidden * qkv + self.query_width * self.hidden + self.hidden * up + self.ffn_hidden * self.hidden
        split += qkv * self.qkv_bias + up * self.mlp_bias
        whole = 2 * self.hidden + self.hidden * (self.output_bias + self.mlp_bias) + 2 * self.head_dim * self.qk_norm
        return split // tp + whole

    def operations(self, batch: int, seq_len: int, tp: int = 1) -> tuple[Operation, ...]:
        """Work of one of `tp` ranks (1 <= tp, dividing heads and ffn_hidden) for `batch` sequences.

        The moved values are those of facts fitted on published runs: (20 h + 4 W f + 4 (q + 2 kv)) bytes per token
        forward and (32 h + 7 W f + 6 (q + 2 kv)) backward at two bytes a value, W = 2 if gated. With tensor
        parallelism the norms work on a slice of the sequence (sequence parallel, arXiv 2205.05198).
        """
        tokens = batch * seq_len
        query, kv, ffn = self.query_width // tp, self.kv_width // tp, self.ffn_hidden // tp
        width = 2 if self.gated_mlp else 1
        hidden_slice = self.hidden / tp
        return (
            Gemm(tokens, query + 2 * kv, self.hidden),
            CausalAttention(batch, seq_len, self.num_heads // tp, self.num_kv_heads // tp, self.head_dim),
            Gemm(tokens, self.hidden, query),
            Gemm(tokens, width * ffn, self.hidden),
            Gemm(tokens, self.hidden, ffn),
            Elementwise(
                forward_values=tokens * (10 * hidden_slice + 2 * width * ffn + 2 * (query + 2 * kv)),
                backward_values=tokens * (16 * hidden_slice + 3.5 * width * ffn + 3 * (query + 2 * kv)),
            ),
        )
