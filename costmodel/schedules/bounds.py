"""Lower bounds of a pipeline's time as linear rows: numbers and solver variables go through the same ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True)
class BoundRow:
    """time >= sum forward[s] f_s + sum backward[s] b_s + hops x transfer, for pass times f_s and b_s of stage s."""

    stage: int
    """The stage whose passes the row follows."""
    forward: tuple[int, ...]
    backward: tuple[int, ...]
    hops: int

    @classmethod
    def of_totals(cls, stage: int, coefficients: Iterable[int], hops: int) -> Self:
        """A row in the stage totals t_s = f_s + b_s."""
        both = tuple(coefficients)
        return cls(stage, both, both, hops)

    def value_s(self, forward_s: Sequence[float], backward_s: Sequence[float], transfer_s: float) -> float:
        """The row at given times."""
        passes = zip(self.forward, forward_s, self.backward, backward_s, strict=True)
        return sum(a * f + c * b for a, f, c, b in passes) + self.hops * transfer_s


def lower_bound_s(
    rows: Iterable[BoundRow], forward_s: Sequence[float], backward_s: Sequence[float], transfer_s: float
) -> float:
    """The tightest of the rows."""
    return max(row.value_s(forward_s, backward_s, transfer_s) for row in rows)
