"""Attention over keys and values of every head: multi-head, grouped-query, multi-query, windowed, cross."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, Self

from pydantic import Field, model_validator

from costmodel.divisors import not_a_multiple
from costmodel.spec.layers.kind import Kind
from costmodel.spec.layers.norm import Norm
from costmodel.spec.operations import (
    AllReduce,
    DotProductAttention,
    Elementwise,
    Gather,
    Gemm,
    Operation,
    Saved,
    Split,
    SplitRule,
)
from costmodel.spec.shards import WHOLE, Shards
from costmodel.spec.stack import SoftwareStack


class QkNorm(StrEnum):
    """How queries and keys are normalised, by what it learns."""

    NONE = "none"
    HEAD = "head"
    """One gain per dimension of a head, for queries and for keys (Qwen 3)."""
    HEAD_WITH_BIAS = "head_with_bias"
    """Gain and bias per dimension of a head, for queries and for keys (Phi)."""
    EVERY_HEAD = "every_head"
    """A gain of its own for each head (Cohere)."""
    WIDTH = "width"
    """One gain per dimension of all heads together (OLMo 2). Tensor-parallel ranks, which have some heads each, add up
    their sums of each token, as vLLM does (MiniMaxText01RMSNormTP); every rank counts the gains whole, as transformers
    replicates them."""


class ScoreBias(StrEnum):
    """Which table of numbers, one for each head and pair, is added to the scores."""

    NONE = "none"
    LEARNED = "learned"
    """Out of a few learned numbers, of this block or of an earlier one; each block lays out a table of its own (T5)."""
    ZEROS = "zeros"
    """Nothing but zeros, which this block makes (cross-attention of T5)."""
    ZEROS_OF_EARLIER = "zeros_of_earlier"
    """The zeros that an earlier block made."""

    @property
    def is_kept(self) -> bool:
        """Whether the table is this block's to keep."""
        return self in (ScoreBias.LEARNED, ScoreBias.ZEROS)


class Attention(Kind):
    """Projections to queries, keys and values, attention, output projection. Tensor parallel splits heads.

    Query heads share key and value heads in groups (arXiv 2305.13245); `value_dim` is head_dim where it is None.
    """

    kind: Literal["attention"] = "attention"
    hidden: int = Field(gt=0)
    num_heads: int = Field(gt=0)
    num_kv_heads: int = Field(gt=0)
    head_dim: int = Field(gt=0)
    value_dim: int | None = Field(default=None, gt=0)
    query_bias: bool = False
    key_bias: bool = False
    value_bias: bool = False
    output_bias: bool = False
    qk_norm: QkNorm = QkNorm.NONE
    qk_norm_kind: Norm = Norm.RMS
    """Which normalisation `qk_norm` is."""
    rotates_joint_projection: bool = False
    """Whether queries and keys are rotated out of one projection of which values are a view, so that values keep all
    of it alive (GPT-NeoX)."""
    normalises_values: bool = False
    """Whether values have a norm that learns nothing, in fp32 (Gemma 4)."""
    repeats_kv: bool = False
    """Whether keys and values are laid out anew for every query head (Falcon 40B)."""
    output_gate: bool = False
    """Whether the query projection also yields a gate on the output (Qwen 3.5)."""
    has_sinks: bool = False
    """Whether each head learns a logit that absorbs attention (gpt-oss)."""
    score_bias: ScoreBias = ScoreBias.NONE
    position_buckets: int = Field(default=0, ge=0)
    """Numbers per head that this block learns for its `score_bias` (T5)."""
    linear_biases: bool = False
    """Whether scores fall linearly with distance (ALiBi, arXiv 2108.12409); kernels add that without a table."""
    value_is_key: bool = False
    """Whether values are the keys, so that there is no value projection (Gemma 4)."""
    reuses_kv: bool = False
    """Whether keys and values are those of an earlier layer (Gemma 3n)."""
    causal: bool = True
    window: int | None = Field(default=None, gt=0)
    chunked: bool = False
    source_hidden: int | None = Field(default=None, gt=0)
    """Width of the tokens that keys and values come from, where it is another stream."""
    source_len: int | None = Field(default=None, gt=0)
    """How many tokens that stream has per sequence; None means as many as there are queries."""
    other_params: int = Field(default=0, ge=0)
    """Further small parameters (gates, gains), on every tensor-parallel rank."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.num_heads % self.num_kv_heads:
            raise ValueError(not_a_multiple("num_heads", self.num_heads, "num_kv_heads", self.num_kv_heads))
        if self.position_buckets and self.score_bias is not ScoreBias.LEARNED:
            raise ValueError(f"position_buckets is {self.position_buckets}, but score_bias {self.score_bias}")
        return self

    @property
    def qkv_bias(self) -> bool:
        """Whether queries, keys and values all have a bias."""
        return self.query_bias and self.key_bias and self.value_bias

    @property
    def attends_elsewhere(self) -> bool:
        """Whether keys and values come from another stream."""
        return self.source_len is not None or self.source_hidden is not None

    @property
    def query_width(self) -> int:
        """Width of all queries together (differs from `hidden` where head_dim is free)."""
        return self.num_heads * self.head_dim

    @property
    def key_width(self) -> int:
        """Width of all keys together."""
        return self.num_kv_heads * self.head_dim

    @property
    def value_width(self) -> int:
        """Width of all values together."""
        return self.num_kv_heads * (self.value_dim or self.head_dim)

    @property
    def output_width(self) -> int:
        """Width of all heads' outputs together."""
        return self.num_heads * (self.value_dim or self.head_dim)

    @property
    def _projected_query_width(self) -> int:
        return self.query_width + (self.output_width if self.output_gate else 0)

    @property
    def _projected_kv_widths(self) -> tuple[int, int]:
        """Widths that key and value projections yield here."""
        if self.reuses_kv:
            return 0, 0
        return self.key_width, 0 if self.value_is_key else self.value_width

    def num_params(self, shards: Shards = WHOLE) -> int:
        """Projections are split; the output's bias and the norms are on every rank."""
        key, value = self._projected_kv_widths
        split = self.hidden * (self._projected_query_width + self.output_width)
        split += (self.source_hidden or self.hidden) * (key + value)
        split += self._projected_query_width * self.query_bias + key * self.key_bias + value * self.value_bias
        split += self.num_heads * (self.has_sinks + self.position_buckets)
        norm = {
            QkNorm.NONE: 0,
            QkNorm.HEAD: 2 * self.head_dim,
            QkNorm.HEAD_WITH_BIAS: 4 * self.head_dim,
            QkNorm.EVERY_HEAD: self.query_width + self.key_width,
            QkNorm.WIDTH: self.query_width + self.key_width,
        }[self.qk_norm]
        if self.reuses_kv:
            norm //= 2
        return split // shards.tp + norm + self.hidden * self.output_bias + self.other_params

    def operations(self, batch: int, seq_len: int, shards: Shards = WHOLE) -> tuple[Operation, ...]:
        """Projections, attention, output projection; element-wise work moves queries, keys, values and score biases.

        Moved values as published runs support them: 4 (q + k + v) bytes per token forward and 6 backward, at two
        bytes a value. A kernel reads biases for every sequence in either pass, and writes their gradient.
        """
        tokens, source_len = shards.tokens(batch, seq_len), self.source_len or seq_len
        source = shards.tokens(batch, source_len)
        key, value = self._projected_kv_widths
        query, kv = self._projected_query_width // shards.tp, key // shards.tp + value // shards.tp
        gemms: tuple[Operation, ...]
        if self.attends_elsewhere:
            gemms = (
                Gemm(tokens, query, self.hidden),
                Gemm(source, kv, self.source_hidden or self.hidden),
            )
        else:
            gemms = (Gemm(tokens, query + kv, self.hidden),)
        moved = tokens * query + source * kv
        bias = 0.0
        if self.score_bias is not ScoreBias.NONE:
            bias = float(shards.tokens(batch, seq_len) * source_len) * self.num_heads / shards.tp
        bias_gradient = bias if self.score_bias is ScoreBias.LEARNED else 0.0
        return (
            *gemms,
            *(self._exchanged(batch, seq_len, shards) if shards.tp > 1 else ()),
            DotProductAttention(
                batch=batch,
                num_queries=seq_len,
                num_keys=source_len,
                num_heads=self.num_heads // shards.tp,
                num_kv_heads=max(1, self.num_kv_heads // shards.tp),
                head_dim=self.head_dim,
                value_dim=self.value_dim or self.head_dim,
                causal=self.causal,
                window=self.window,
                chunked=self.chunked,
                reads_mask=self.score_bias is not ScoreBias.NONE,
                num_parts=shards.cp,
            ),
            Elementwise(
                forward_values=2.0 * moved,
                backward_values=3.0 * moved,
                kernel_values_forward=bias,
                kernel_values_backward=bias + bias_gradient,
            ),
            Gemm(tokens, self.hidden, self.output_width // shards.tp),
        )

    def _exchanged(self, batch: int, seq_len: int, shards: Shards) -> tuple[Operation, ...]:
        """What tensor-parallel ranks exchange besides the hidden state: the other stream, of which each has a slice,
        and the sums of norms over all heads, for queries and for keys."""
        found: tuple[Operation, ...] = ()
        if self.attends_elsewhere and not self.reuses_kv:
            found += (Gather(float(batch * (self.source_len or seq_len) * (self.source_hidden or self.hidden))),)
        if self.qk_norm is QkNorm.WIDTH:
            source = 0 if self.reuses_kv else shards.tokens(batch, self.source_len or seq_len)
            tokens = shards.tokens(batch, seq_len) + source
            found += (AllReduce(fp32_values=float(tokens * self.qk_norm_kind.num_sums)),)
        return found

    def saved(self, batch: int, seq_len: int, shards: Shards, stack: SoftwareStack) -> Saved:
        """Queries, keys and values as the attention meets them, the output of the heads, the gate after its sigmoid
        and the gated output, what norms of queries, keys and values keep, biases of the scores, of learned ones also
        the numbers of their rows, and of another stream a gathered copy where the stack keeps one.

        A fused kernel keeps no scores; of another one the stack says what it keeps of each. Dropout counts as none.
        Keys and values of an earlier layer are kept there.
        """
        tokens, source = shards.tokens(batch, seq_len), shards.tokens(batch, self.source_len or seq_len)
        key, value = (0, 0) if self.reuses_kv else (self.key_width, self.value_width)
        kv = self.query_width + self.output_width if self.repeats_kv else key + value
        joint = self.query_width + key if self.rotates_joint_projection else 0
        gate = 2 * self.output_width if self.output_gate else 0
        width = self.query_width + self.output_width + joint + gate
        # Of one sequence: the batch shares biases.
        pairs = shards.tokens(1, seq_len) * (self.source_len or seq_len)
        bias = self.num_heads * pairs if self.score_bias.is_kept else 0
        buckets = float(pairs) if self.position_buckets else 0.0
        values = (tokens * width + source * kv + bias) / shards.tp
        if shards.tp > 1 and stack.gathered_input_saved and self.attends_elsewhere and not self.reuses_kv:
            values += source * (self.source_hidden or self.hidden)
        scores = shards.tokens(batch, seq_len) * (self.source_len or seq_len) * self.num_heads / shards.tp
        kept = Saved(values=values, int64_values=buckets, bytes=stack.score_bytes_kept * scores)
        if self.qk_norm is not QkNorm.NONE:
            kept += self.qk_norm_kind.saved((tokens * self.query_width + source * key) / shards.tp, stack)
        if self.normalises_values:
            kept += Norm.FIXED_IN_FP32.saved(source * value / shards.tp, stack)
        return kept

    def state_values(self, seq_len: int) -> int:
        """Keys and values of the tokens that the next one sees: all of the sequence or of the other stream, one fewer
        than the window, which holds the next one too, or what its chunk has so far.

        Values that are the keys count apart, since only keys are rotated, and each has a norm of its own.
        """
        if self.reuses_kv:
            return 0
        if self.source_len is not None:
            length = self.source_len
        elif self.window is None:
            length = seq_len
        else:
            length = seq_len % self.window if self.chunked else min(seq_len, self.window - 1)
        return length * (self.key_width + self.value_width)

    @property
    def ring_width(self) -> int | None:
        """Keys and values, also of tokens beyond a window, or of an earlier layer: each layer has a ring of its own."""
        return None if self.attends_elsewhere else self.key_width + self.value_width

    def splits(self) -> tuple[Split, ...]:
        """Heads, and key and value heads."""
        return (
            Split(SplitRule.HEADS, "num_attention_heads", self.num_heads),
            Split(SplitRule.KV_HEADS, "num_key_value_heads", self.num_kv_heads),
        )
