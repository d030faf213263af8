"""A normalisation on its own, at the end of a stack that no head follows."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from costmodel.spec.layers.kind import Kind
from costmodel.spec.layers.norm import Norm
from costmodel.spec.operations import Elementwise, Operation, Saved
from costmodel.spec.shards import WHOLE, Shards
from costmodel.spec.stack import SoftwareStack


class FinalNorm(Kind):
    """Normalises what a stack of blocks yields, each tensor-parallel rank a slice of the sequence."""

    kind: Literal["final_norm"] = "final_norm"
    hidden: int = Field(gt=0)
    norm: Norm

    def num_params(self, shards: Shards = WHOLE) -> int:
        """The same on every rank."""
        return self.norm.num_params(self.hidden)

    def operations(self, batch: int, seq_len: int, shards: Shards = WHOLE) -> tuple[Operation, ...]:
        """Read and written once."""
        values = shards.tokens(batch, seq_len) * self.hidden / shards.sequence
        return (Elementwise(forward_values=2 * values, backward_values=4 * values),)

    def saved(self, batch: int, seq_len: int, shards: Shards, stack: SoftwareStack) -> Saved:
        """What the norm keeps, and its result, which whatever follows reads: a classifier, or every block of a decoder
        that attends to this stack (they count it nowhere)."""
        values = shards.tokens(batch, seq_len) * self.hidden / shards.sequence
        return self.norm.saved(values, stack) + Saved(values=values)
