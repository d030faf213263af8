"""The state-space layer Mamba: a selective scan per channel (arXiv 2312.00752)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from costmodel.spec.layers.kind import Kind
from costmodel.spec.operations import (
    AllReduce,
    Convolution,
    Elementwise,
    Gemm,
    Operation,
    Saved,
    Scan,
    Split,
    SplitRule,
)
from costmodel.spec.shards import WHOLE, Shards
from costmodel.spec.stack import SoftwareStack


class Mamba(Kind):
    """Mamba: each of `inner` channels has a state of `state_size` numbers; tensor parallel splits channels."""

    kind: Literal["mamba"] = "mamba"
    hidden: int = Field(gt=0)
    inner: int = Field(gt=0)
    state_size: int = Field(gt=0)
    time_step_rank: int = Field(gt=0)
    conv_kernel: int = Field(gt=0)
    bias: bool = False
    """Of the projections in and out."""
    conv_bias: bool = True
    other_params: int = Field(default=0, ge=0)
    """Further small parameters (norms of B, C and the time step), on every tensor-parallel rank."""

    def num_params(self, shards: Shards = WHOLE) -> int:
        """All but the bias of the output is split along the channels."""
        split = 3 * self.hidden * self.inner + self.inner * (self.time_step_rank + 2 * self.state_size)
        split += self.inner * (self.time_step_rank + 1)  # time step, with bias
        split += self.inner * (self.conv_kernel + self.conv_bias)
        split += self.inner * (self.state_size + 1)  # A and D
        split += 2 * self.inner * self.bias
        return split // shards.tp + self.hidden * self.bias + self.other_params

    def operations(self, batch: int, seq_len: int, shards: Shards = WHOLE) -> tuple[Operation, ...]:
        """Projections, convolution, and 9 FLOP per channel, state and token in the scan (two products for the decay
        and the input, one recurrence, one read-out), which keeps the state on chip.

        B, C and the time step come out of all channels, so tensor-parallel ranks add up their shares.
        """
        tokens, inner = batch * seq_len, self.inner // shards.tp
        scan_width = 3 * inner + 2 * self.state_size
        small = self.time_step_rank + 2 * self.state_size
        return (
            Gemm(tokens, 2 * inner, self.hidden),
            Convolution(2.0 * tokens * inner * self.conv_kernel, 2.0 * tokens * inner),
            Gemm(tokens, small, inner),
            *((AllReduce(float(tokens * small)),) if shards.tp > 1 else ()),
            Gemm(tokens, inner, self.time_step_rank),
            Scan(9.0 * tokens * inner * self.state_size, tokens * (scan_width + inner)),
            Elementwise(forward_values=4.0 * tokens * inner, backward_values=6.0 * tokens * inner),
            Gemm(tokens, self.hidden, inner),
        )

    def saved(self, batch: int, seq_len: int, shards: Shards, stack: SoftwareStack) -> Saved:
        """Input and gate, convolved input, time step, scan output and gated output; B, C and the time step's latent."""
        small = self.time_step_rank + 2 * self.state_size
        return Saved(values=batch * seq_len * (6 * self.inner / shards.tp + small))

    def state_values(self, seq_len: int) -> int:
        """The state, and what the convolution looks back on."""
        return self.inner * (self.state_size + self.conv_kernel - 1)

    def splits(self) -> tuple[Split, ...]:
        """Channels."""
        return (Split(SplitRule.RECURRENCE, "intermediate_size of the state-space layer", self.inner),)
