"""Token embedding: looks up one row of a vocabulary table per token, and of the tables of positions and types."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from costmodel.spec.layers.kind import Kind
from costmodel.spec.layers.norm import Norm
from costmodel.spec.operations import Elementwise, Gemm, Operation, Saved
from costmodel.spec.shards import WHOLE, Shards
from costmodel.spec.stack import SoftwareStack


class Embedding(Kind):
    """A table of `vocab` rows; tensor parallel splits the rows. The other tables and the norm are on every rank."""

    kind: Literal["embedding"] = "embedding"
    vocab: int = Field(gt=0)
    hidden: int = Field(gt=0)
    table_width: int | None = Field(default=None, gt=0)
    """Numbers in a row, where a projection without bias widens them to `hidden` (OPT-350m)."""
    num_positions: int = Field(default=0, ge=0)
    """Rows of a learned table of positions."""
    num_types: int = Field(default=0, ge=0)
    """Rows of a table of token types (BERT)."""
    norm: Norm | None = None
    layer_input_vocab: int = Field(default=0, ge=0)
    """Rows of a second table of tokens, which feeds the blocks directly (Gemma 3n)."""
    layer_input_width: int = Field(default=0, ge=0)
    """Numbers in such a row, of all blocks together; a projection of the first row to them is added."""
    tied: bool = False
    """Whether the table is that of an earlier embedding (encoder and decoder of T5)."""
    other_params: int = Field(default=0, ge=0)
    """Further parameters, on every tensor-parallel rank."""

    def num_params(self, shards: Shards = WHOLE) -> int:
        """The table's rows are padded up to a multiple of tp."""
        width = self.table_width or self.hidden
        table = 0 if self.tied else -(-self.vocab // shards.tp) * width
        widening = 0 if self.table_width is None else width * self.hidden
        norm = 0 if self.norm is None else self.norm.num_params(self.hidden)
        layer_inputs = self.layer_input_width * (-(-self.layer_input_vocab // shards.tp) + self.hidden)
        others = (self.num_positions + self.num_types) * self.hidden
        return table + widening + layer_inputs + others + norm + self.other_params

    def operations(self, batch: int, seq_len: int, shards: Shards = WHOLE) -> tuple[Operation, ...]:
        """The rows are read and written forward, read and scattered backward; once more for each further table and for
        the norm."""
        values = float(shards.tokens(batch, seq_len) * self.hidden) / shards.sequence
        tables = 1 + (self.num_positions > 0) + (self.num_types > 0) + (self.norm is not None)
        operations: tuple[Operation, ...] = (
            Elementwise(forward_values=2 * tables * values, backward_values=3 * tables * values),
        )
        tokens = shards.tokens(batch, seq_len)
        if self.table_width is not None:
            operations += (Gemm(tokens, self.hidden, self.table_width),)
        if self.layer_input_width:
            # Rows, their sum with the projection, and its norm.
            moved = float(tokens * self.layer_input_width)
            operations += (
                Gemm(tokens, self.layer_input_width, self.hidden),
                Elementwise(forward_values=7 * moved, backward_values=9 * moved),
            )
        return operations

    def saved(self, batch: int, seq_len: int, shards: Shards, stack: SoftwareStack) -> Saved:
        """Token numbers, and what the norm and the widening read."""
        tokens = shards.tokens(batch, seq_len)
        values = (0 if self.norm is None else self.hidden) + (self.table_width or 0)
        if self.layer_input_width:
            values += self.hidden + 2 * self.layer_input_width  # before and after the norm
        return Saved(values=float(tokens * values), int64_values=float(tokens))
