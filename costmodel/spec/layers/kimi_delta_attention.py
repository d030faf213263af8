"""Kimi delta attention: a delta rule in which each channel has a decay of its own (Kimi Linear, arXiv 2510.26692)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from costmodel.spec.layers.gated_delta_net import CHUNK
from costmodel.spec.layers.kind import Kind
from costmodel.spec.operations import Convolution, Elementwise, Gemm, Operation, Saved, Scan, Split, SplitRule
from costmodel.spec.shards import WHOLE, Shards
from costmodel.spec.stack import SoftwareStack


class KimiDeltaAttention(Kind):
    """Queries, keys and values of `num_heads` heads, a short convolution before, a gated norm after. Decay and output
    gate come out of latents as wide as one head. Tensor parallel splits heads; the latents are on every rank."""

    kind: Literal["kimi_delta_attention"] = "kimi_delta_attention"
    hidden: int = Field(gt=0)
    num_heads: int = Field(gt=0)
    head_dim: int = Field(gt=0)
    conv_kernel: int = Field(gt=0)

    @property
    def width(self) -> int:
        """Width of all heads together."""
        return self.num_heads * self.head_dim

    def num_params(self, shards: Shards = WHOLE) -> int:
        """All but the projections to the latents and the gain of the norm, which heads share, is split."""
        split = self.hidden * (4 * self.width + self.num_heads)  # queries, keys, values, output; write strength
        split += 2 * self.head_dim * self.width  # decay and gate out of their latents
        split += 3 * self.width * self.conv_kernel + self.width + self.num_heads  # bias of the decay and its rate
        return split // shards.tp + 2 * self.hidden * self.head_dim + self.head_dim

    def operations(self, batch: int, seq_len: int, shards: Shards = WHOLE) -> tuple[Operation, ...]:
        """Projections, convolution and the chunked delta rule, which multiplies as that of a gated delta net does.

        With chunks of c tokens and heads of width d, per token and head: 3 c d within the chunk and 3 d d for reading
        the state twice and writing it; two FLOP each. Decays only scale the factors.
        """
        tokens, heads = batch * seq_len, self.num_heads // shards.tp
        width, chunk = self.width // shards.tp, min(CHUNK, seq_len)
        scan_flop = 2.0 * tokens * width * 3 * (chunk + self.head_dim)
        return (
            Gemm(tokens, 3 * width + heads + 2 * self.head_dim, self.hidden),
            Gemm(tokens, width, self.head_dim, count=2),
            Convolution(2.0 * tokens * 3 * width * self.conv_kernel, 2.0 * tokens * 3 * width),
            Scan(scan_flop, float(tokens * (5 * width + heads))),
            Elementwise(forward_values=6.0 * tokens * width, backward_values=9.0 * tokens * width),
            Gemm(tokens, self.hidden, width),
        )

    def saved(self, batch: int, seq_len: int, shards: Shards, stack: SoftwareStack) -> Saved:
        """Queries, keys and values as projected, convolved and normalised, the decay before and after its activation,
        the gate, the output and the gated output, the write strength twice, and the latents; one state per chunk."""
        split = (9 + 2 + 3) * self.width + 2 * self.num_heads
        states = batch * -(-seq_len // CHUNK) * self.width * self.head_dim
        return Saved(values=batch * seq_len * (split / shards.tp + 2 * self.head_dim) + states / shards.tp)

    def state_values(self, seq_len: int) -> int:
        """The state of every head, and what the convolution looks back on."""
        return self.width * (self.head_dim + 3 * (self.conv_kernel - 1))

    def splits(self) -> tuple[Split, ...]:
        """Heads."""
        return (Split(SplitRule.RECURRENCE, "linear_num_heads", self.num_heads),)
