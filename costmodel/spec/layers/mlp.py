"""The feed-forward network: up, activation, down; gated networks multiply two up-projections (arXiv 2002.05202)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from costmodel.spec.layers.activation import Activation
from costmodel.spec.layers.kind import Kind
from costmodel.spec.operations import Elementwise, Gemm, Operation, Saved, Split, SplitRule
from costmodel.spec.shards import WHOLE, Shards
from costmodel.spec.stack import SoftwareStack


class Mlp(Kind):
    """A dense feed-forward network; tensor parallel splits its columns (Megatron, arXiv 1909.08053)."""

    kind: Literal["mlp"] = "mlp"
    hidden: int = Field(gt=0)
    ffn_hidden: int = Field(gt=0)
    gated: bool = True
    activation: Activation = Activation.KERNEL
    bias: bool = False

    @property
    def up_matrices(self) -> int:
        """Projections from hidden to ffn_hidden."""
        return 2 if self.gated else 1

    def num_params(self, shards: Shards = WHOLE) -> int:
        """Matrices and the upper bias are split; the bias after the reduction is on every rank."""
        up = self.up_matrices * self.ffn_hidden
        split = self.hidden * (up + self.ffn_hidden) + up * self.bias
        return split // shards.tp + self.hidden * self.bias

    def operations(self, batch: int, seq_len: int, shards: Shards = WHOLE) -> tuple[Operation, ...]:
        """Up, activation, down. Moved values as published runs support them: 4 W f bytes per token forward and 7 W f
        backward at two bytes a value, W = 2 if gated."""
        tokens, ffn = shards.tokens(batch, seq_len), self.ffn_hidden // shards.tp
        width = self.up_matrices * ffn
        return (
            Gemm(tokens, width, self.hidden),
            Elementwise(forward_values=2.0 * tokens * width, backward_values=3.5 * tokens * width),
            Gemm(tokens, self.hidden, ffn),
        )

    def saved(self, batch: int, seq_len: int, shards: Shards, stack: SoftwareStack) -> Saved:
        """See `kept_per_column`."""
        per_column = kept_per_column(self.gated, self.activation, stack)
        return Saved(values=shards.tokens(batch, seq_len) * per_column * self.ffn_hidden / shards.tp)

    def splits(self) -> tuple[Split, ...]:
        """Columns."""
        return (Split(SplitRule.FFN, "intermediate_size", self.ffn_hidden),)


def kept_per_column(gated: bool, activation: Activation, stack: SoftwareStack) -> float:
    """Numbers kept per token and column: what the activation keeps, its result, and if gated also up and product.

    A stack that fuses keeps the input of its one kernel (gate and up, or the pre-activation) and the result.
    """
    if stack.mlp_activation_fused:
        return 3 if gated else 2
    return activation.num_kept + (3 if gated else 1)
