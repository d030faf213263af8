"""The state-space layer Mamba-2: heads with one decay each, scanned in chunks (arXiv 2405.21060)."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from costmodel.divisors import not_a_multiple
from costmodel.spec.layers.kind import Kind
from costmodel.spec.operations import Convolution, Elementwise, Gemm, Operation, Saved, Scan, Split, SplitRule
from costmodel.spec.shards import WHOLE, Shards
from costmodel.spec.stack import SoftwareStack


class Mamba2(Kind):
    """Mamba-2: `num_heads` heads of `head_dim` channels, one decay per head, B and C shared in `num_groups` groups.

    Tensor parallel splits heads and groups.
    """

    kind: Literal["mamba2"] = "mamba2"
    hidden: int = Field(gt=0)
    num_heads: int = Field(gt=0)
    head_dim: int = Field(gt=0)
    num_groups: int = Field(gt=0)
    state_size: int = Field(gt=0)
    conv_kernel: int = Field(gt=0)
    chunk_size: int = Field(gt=0)
    bias: bool = False
    """Of the projections in and out."""
    output_bias: bool | None = None
    """Of the projection out, where it is not `bias`."""
    conv_bias: bool = True
    gated_norm: bool = True
    """Whether the output is normalised before it is projected. Tensor-parallel ranks are taken to norm each group by
    itself, as mamba-ssm and Megatron do, so that nothing is exchanged."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.num_heads % self.num_groups:
            raise ValueError(not_a_multiple("num_heads", self.num_heads, "num_groups", self.num_groups))
        return self

    @property
    def inner(self) -> int:
        """Channels of all heads together."""
        return self.num_heads * self.head_dim

    @property
    def conv_width(self) -> int:
        """Channels that are convolved: input, B and C."""
        return self.inner + 2 * self.num_groups * self.state_size

    @property
    def projected_width(self) -> int:
        """What the input projection yields: gate, input, B, C, time step."""
        return self.inner + self.conv_width + self.num_heads

    def num_params(self, shards: Shards = WHOLE) -> int:
        """All but the bias of the output is split along heads and groups."""
        split = self.hidden * (self.projected_width + self.inner) + self.projected_width * self.bias
        split += self.conv_width * (self.conv_kernel + self.conv_bias)
        split += 3 * self.num_heads + self.inner * self.gated_norm  # A, D and the time step's bias; norm
        output_bias = self.bias if self.output_bias is None else self.output_bias
        return split // shards.tp + self.hidden * output_bias

    def operations(self, batch: int, seq_len: int, shards: Shards = WHOLE) -> tuple[Operation, ...]:
        """Projections, convolution, and the chunked scan as four multiplications (arXiv 2405.21060, section 6).

        With chunks of c tokens, state n and head width p, per token and head: c n / 2 for scores within the chunk
        (shared in a group), c p / 2 for their product with the input, n p each for writing and reading the state;
        two FLOP each.
        """
        tokens, heads, groups = (
            batch * seq_len,
            self.num_heads // shards.tp,
            max(1, self.num_groups // shards.tp),
        )
        chunk = min(self.chunk_size, seq_len)
        scan_flop = 2.0 * tokens * (groups * chunk * self.state_size / 2 + heads * self.head_dim * chunk / 2)
        scan_flop += 2.0 * tokens * heads * 2 * self.state_size * self.head_dim
        inner, conv = self.inner // shards.tp, self.conv_width // shards.tp
        return (
            Gemm(tokens, self.projected_width // shards.tp, self.hidden),
            Convolution(2.0 * tokens * conv * self.conv_kernel, 2.0 * tokens * conv),
            Scan(scan_flop, float(tokens * (conv + heads + inner))),
            Elementwise(forward_values=4.0 * tokens * inner, backward_values=6.0 * tokens * inner),
            Gemm(tokens, self.hidden, inner),
        )

    def saved(self, batch: int, seq_len: int, shards: Shards, stack: SoftwareStack) -> Saved:
        """What was projected, what was convolved, the scan's output and the normalised output; one state per chunk
        in fp32."""
        widths = self.projected_width + self.conv_width + 2 * self.inner
        chunks = batch * -(-seq_len // self.chunk_size)
        return Saved(
            values=batch * seq_len * widths / shards.tp,
            fp32_values=chunks * self.inner * self.state_size / shards.tp,
        )

    def state_values(self, seq_len: int) -> int:
        """The state, and what the convolution looks back on."""
        return self.inner * self.state_size + self.conv_width * (self.conv_kernel - 1)

    def splits(self) -> tuple[Split, ...]:
        """Heads and groups."""
        return (
            Split(SplitRule.RECURRENCE, "mamba_num_heads", self.num_heads),
            Split(SplitRule.RECURRENCE, "n_groups", self.num_groups),
        )
