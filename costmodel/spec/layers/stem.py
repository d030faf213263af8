"""The stem of a tower that sees or hears: convolutions that turn pixels or frames into tokens."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from costmodel.spec.base import Spec
from costmodel.spec.layers.kind import Kind
from costmodel.spec.layers.norm import Norm
from costmodel.spec.operations import Elementwise, Gemm, Operation, Saved
from costmodel.spec.shards import WHOLE, Shards
from costmodel.spec.stack import SoftwareStack


class Filter(Spec):
    """One convolution: `fan_in` numbers (channels times kernel) go into each of `out` channels."""

    fan_in: int = Field(gt=0)
    out: int = Field(gt=0)
    bias: bool = True
    outputs_per_token: int = Field(default=1, gt=0)
    """Positions that it computes for each token that leaves the stem (2 where a later convolution strides by 2)."""

    @property
    def num_params(self) -> int:
        """Kernel and bias."""
        return self.out * (self.fan_in + self.bias)


class Stem(Kind):
    """Convolutions one after the other, a table of positions, further tokens and a norm; on every tensor-parallel
    rank. `seq_len` of its passes counts the tokens that leave it."""

    kind: Literal["stem"] = "stem"
    hidden: int = Field(gt=0)
    filters: tuple[Filter, ...] = Field(min_length=1)
    num_positions: int = Field(default=0, ge=0)
    num_extra_tokens: int = Field(default=0, ge=0)
    """Learned tokens put before the others (class token, registers)."""
    norm: Norm | None = None
    other_params: int = Field(default=0, ge=0)

    def num_params(self, shards: Shards = WHOLE) -> int:
        """The same on every rank."""
        tables = (self.num_positions + self.num_extra_tokens) * self.hidden
        norm = 0 if self.norm is None else self.norm.num_params(self.hidden)
        return sum(one.num_params for one in self.filters) + tables + norm + self.other_params

    def operations(self, batch: int, seq_len: int, shards: Shards = WHOLE) -> tuple[Operation, ...]:
        """Each convolution is a multiplication of its unfolded input. Pixels and frames, which the first one reads,
        need no gradient."""
        tokens = batch * max(1, seq_len - self.num_extra_tokens)
        moved = batch * seq_len * self.hidden
        return (
            *(
                Gemm(tokens * one.outputs_per_token, one.out, one.fan_in, num_gradients=1 if place == 0 else 2)
                for place, one in enumerate(self.filters)
            ),
            Elementwise(forward_values=4.0 * moved, backward_values=6.0 * moved),
        )

    def saved(self, batch: int, seq_len: int, shards: Shards, stack: SoftwareStack) -> Saved:
        """The unfolded input and the output of each convolution, and the input of the norm."""
        per_token = sum(one.outputs_per_token * (one.fan_in + one.out) for one in self.filters)
        return Saved(values=float(batch * seq_len * (per_token + (0 if self.norm is None else self.hidden))))
