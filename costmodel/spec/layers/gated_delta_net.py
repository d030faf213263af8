"""Linear attention by a gated delta rule: a matrix-valued state per head (arXiv 2412.06464; Qwen 3-Next, 3.5)."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from costmodel.divisors import not_a_multiple
from costmodel.spec.layers.kind import Kind
from costmodel.spec.operations import Convolution, Elementwise, Gemm, Operation, Saved, Scan, Split, SplitRule
from costmodel.spec.shards import WHOLE, Shards
from costmodel.spec.stack import SoftwareStack

CHUNK = 64
"""Tokens that the usual kernels of the delta rule take at a time (flash-linear-attention)."""


class GatedDeltaNet(Kind):
    """Queries and keys of `num_key_heads` heads, values of `num_value_heads`, a short convolution before, a gated norm
    after. Tensor parallel splits heads."""

    kind: Literal["gated_delta_net"] = "gated_delta_net"
    hidden: int = Field(gt=0)
    num_key_heads: int = Field(gt=0)
    num_value_heads: int = Field(gt=0)
    key_dim: int = Field(gt=0)
    value_dim: int = Field(gt=0)
    conv_kernel: int = Field(gt=0)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.num_value_heads % self.num_key_heads:
            raise ValueError(
                not_a_multiple("num_value_heads", self.num_value_heads, "num_key_heads", self.num_key_heads)
            )
        return self

    @property
    def conv_width(self) -> int:
        """Channels that are convolved: queries, keys and values."""
        return 2 * self.num_key_heads * self.key_dim + self.value_width

    @property
    def value_width(self) -> int:
        """Width of all values together."""
        return self.num_value_heads * self.value_dim

    def num_params(self, shards: Shards = WHOLE) -> int:
        """All but the gain of the norm, which heads share, is split."""
        projected = self.conv_width + self.value_width + 2 * self.num_value_heads  # gate; decay and write strength
        split = self.hidden * (projected + self.value_width)
        split += self.conv_width * self.conv_kernel + 2 * self.num_value_heads  # decay rate and bias
        return split // shards.tp + self.value_dim

    def operations(self, batch: int, seq_len: int, shards: Shards = WHOLE) -> tuple[Operation, ...]:
        """Projections, convolution and the chunked delta rule (arXiv 2406.06484, section 3).

        With chunks of c tokens and a state of k x v per head, per token and head: 3 c k / 2 + 3 c v / 2 within the
        chunk (scores of keys with keys and with queries, inverse of a triangle applied to keys and values, output)
        and 3 k v for reading the state twice and writing it; two FLOP each.
        """
        tokens, heads = batch * seq_len, self.num_value_heads // shards.tp
        chunk = min(CHUNK, seq_len)
        scan_flop = 2.0 * tokens * heads * (1.5 * chunk * (self.key_dim + self.value_dim))
        scan_flop += 2.0 * tokens * heads * 3 * self.key_dim * self.value_dim
        conv, value = self.conv_width // shards.tp, self.value_width // shards.tp
        return (
            Gemm(tokens, conv + value + 2 * heads, self.hidden),
            Convolution(2.0 * tokens * conv * self.conv_kernel, 2.0 * tokens * conv),
            Scan(scan_flop, float(tokens * (conv + value + 2 * heads))),
            Elementwise(forward_values=4.0 * tokens * value, backward_values=6.0 * tokens * value),
            Gemm(tokens, self.hidden, value),
        )

    def saved(self, batch: int, seq_len: int, shards: Shards, stack: SoftwareStack) -> Saved:
        """What was projected, what was convolved, normalised queries and keys, the output and the gated output; one
        state per chunk."""
        widths = 3 * self.conv_width + 3 * self.value_width + 4 * self.num_value_heads
        chunks = batch * -(-seq_len // CHUNK)
        states = chunks * self.num_value_heads * self.key_dim * self.value_dim
        return Saved(values=(batch * seq_len * widths + states) / shards.tp)

    def state_values(self, seq_len: int) -> int:
        """The state of every head, and what the convolution looks back on."""
        return self.value_width * self.key_dim + self.conv_width * (self.conv_kernel - 1)

    def splits(self) -> tuple[Split, ...]:
        """Key heads and value heads."""
        return (
            Split(SplitRule.RECURRENCE, "linear_num_key_heads", self.num_key_heads),
            Split(SplitRule.RECURRENCE, "linear_num_value_heads", self.num_value_heads),
        )
