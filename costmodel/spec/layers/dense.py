"""A matrix on its own: poolers, classifiers, connectors between towers, projections into a shared space."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from costmodel.spec.layers.kind import Kind
from costmodel.spec.layers.norm import Norm
from costmodel.spec.operations import Elementwise, Gemm, Operation, Saved
from costmodel.spec.shards import WHOLE, Shards
from costmodel.spec.stack import SoftwareStack


class Dense(Kind):
    """A linear map from `hidden` to `out` numbers per token, perhaps after a norm; on every tensor-parallel rank."""

    kind: Literal["dense"] = "dense"
    hidden: int = Field(gt=0)
    out: int = Field(gt=0)
    bias: bool = False
    norm: Norm | None = None
    """Of the input."""
    other_params: int = Field(default=0, ge=0)
    """Further small parameters (a temperature)."""

    def num_params(self, shards: Shards = WHOLE) -> int:
        """The same on every rank."""
        norm = 0 if self.norm is None else self.norm.num_params(self.hidden)
        return self.hidden * self.out + self.out * self.bias + norm + self.other_params

    def operations(self, batch: int, seq_len: int, shards: Shards = WHOLE) -> tuple[Operation, ...]:
        """One multiplication; an activation reads and writes the result."""
        tokens = batch * seq_len
        moved = tokens * (self.out + (0 if self.norm is None else self.hidden))
        return (
            Gemm(tokens, self.out, self.hidden),
            Elementwise(forward_values=2.0 * moved, backward_values=3.0 * moved),
        )

    def saved(self, batch: int, seq_len: int, shards: Shards, stack: SoftwareStack) -> Saved:
        """Input and output, and the input of the norm."""
        return Saved(values=float(batch * seq_len * (self.hidden * (1 if self.norm is None else 2) + self.out)))
