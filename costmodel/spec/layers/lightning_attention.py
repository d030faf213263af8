"""Linear attention with a constant decay: a matrix-valued state per head (arXiv 2401.04658; MiniMax-01)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from costmodel.spec.layers.kind import Kind
from costmodel.spec.operations import AllReduce, Elementwise, Gemm, Operation, Saved, Scan, Split, SplitRule
from costmodel.spec.shards import WHOLE, Shards
from costmodel.spec.stack import SoftwareStack


class LightningAttention(Kind):
    """Queries, keys and values of `num_heads` heads, an output gate and a norm over all heads; tensor parallel splits
    heads."""

    kind: Literal["lightning_attention"] = "lightning_attention"
    hidden: int = Field(gt=0)
    num_heads: int = Field(gt=0)
    head_dim: int = Field(gt=0)
    block_size: int = Field(gt=0)
    """Tokens that are taken at a time."""

    @property
    def width(self) -> int:
        """Width of all heads together."""
        return self.num_heads * self.head_dim

    def num_params(self, shards: Shards = WHOLE) -> int:
        """Five projections and the norm, all split along heads."""
        return (5 * self.hidden * self.width + self.width) // shards.tp

    def operations(self, batch: int, seq_len: int, shards: Shards = WHOLE) -> tuple[Operation, ...]:
        """Per token and head of width d, in blocks of c tokens: c d for both products within the block (its causal
        half), d d each for writing and reading the state; two FLOP each.

        The norm over all heads needs one sum of squares of each token, which tensor-parallel ranks add up.
        """
        tokens, width = batch * seq_len, self.width // shards.tp
        block = min(self.block_size, seq_len)
        return (
            Gemm(tokens, 4 * width, self.hidden),
            Scan(2.0 * tokens * width * (block + 2 * self.head_dim), 4.0 * tokens * width),
            Elementwise(forward_values=5.0 * tokens * width, backward_values=8.0 * tokens * width),
            *((AllReduce(fp32_values=float(tokens)),) if shards.tp > 1 else ()),
            Gemm(tokens, self.hidden, width),
        )

    def saved(self, batch: int, seq_len: int, shards: Shards, stack: SoftwareStack) -> Saved:
        """Projections before and after their activation, output, normalised output and gated output."""
        blocks = batch * -(-seq_len // self.block_size)
        return Saved(values=(batch * seq_len * 10 * self.width + blocks * self.width * self.head_dim) / shards.tp)

    def state_values(self, seq_len: int) -> int:
        """A square matrix per head."""
        return self.width * self.head_dim

    def splits(self) -> tuple[Split, ...]:
        """Heads."""
        return (Split(SplitRule.HEADS, "num_attention_heads", self.num_heads),)
