"""Token embedding: looks up one row of a vocabulary table per token."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from costmodel.spec.base import Spec
from costmodel.spec.operations import Elementwise, Operation


class Embedding(Spec):
    """A table of `vocab` rows of `hidden` numbers; tensor parallel splits the rows."""

    kind: Literal["embedding"] = "embedding"
    vocab: int = Field(gt=0)
    hidden: int = Field(gt=0)

    def num_params(self, tp: int = 1) -> int:
        """Parameters held by each of `tp` ranks; the rows are padded up to a multiple of tp."""
        return -(-self.vocab // tp) * self.hidden

    def operations(self, batch: int, seq_len: int, tp: int = 1) -> tuple[Operation, ...]:
        """Work of one rank: the rows are read and written forward, read and scattered backward."""
        values = float(batch * seq_len * self.hidden) / tp
        return (Elementwise(forward_values=2 * values, backward_values=3 * values),)
