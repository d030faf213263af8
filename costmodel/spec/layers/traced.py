"""A layer known by its traces only: what a module did when it was run on tensors without values."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from costmodel.spec.layers.kind import Kind
from costmodel.spec.operations import Elementwise, Operation, Saved, Scan
from costmodel.spec.shards import WHOLE, Shards
from costmodel.spec.stack import SoftwareStack


class Traced(Kind):
    """Sizes of a module whose inside is unknown, so that no part of it can be split by tensor parallelism.

    FLOP and saved bytes per sequence are `a x seq_len + b x seq_len^2`, from traces at two lengths.
    """

    kind: Literal["traced"] = "traced"
    name: str = Field(min_length=1)
    """Class of the module."""
    hidden: int = Field(gt=0)
    params: int = Field(ge=0)
    active_params: int | None = Field(default=None, ge=0)
    """Parameters that one token meets; None where that is all of them."""
    flop_per_token: float = Field(ge=0)
    flop_per_token_squared: float = Field(default=0.0, ge=0)
    saved_values_per_token: float = Field(ge=0)
    saved_values_per_token_squared: float = Field(default=0.0, ge=0)

    def num_params(self, shards: Shards = WHOLE) -> int:
        """The same on every rank."""
        return self.params

    def num_active_params(self) -> int:
        """As traced."""
        return self.params if self.active_params is None else self.active_params

    def operations(self, batch: int, seq_len: int, shards: Shards = WHOLE) -> tuple[Operation, ...]:
        """All multiplications as one operation; everything kept is written once, and read once in backward."""
        flop = batch * (self.flop_per_token * seq_len + self.flop_per_token_squared * seq_len**2)
        values = self._saved_values(batch, seq_len)
        return (
            Scan(flop, self.params + values),
            Elementwise(forward_values=values, backward_values=2 * values),
        )

    def saved(self, batch: int, seq_len: int, shards: Shards, stack: SoftwareStack) -> Saved:
        """As traced."""
        return Saved(values=self._saved_values(batch, seq_len))

    def _saved_values(self, batch: int, seq_len: int) -> float:
        return batch * (self.saved_values_per_token * seq_len + self.saved_values_per_token_squared * seq_len**2)
