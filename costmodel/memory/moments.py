"""Moments: the bytes of one kind of memory when a peak can lie."""

from __future__ import annotations

from dataclasses import dataclass

from costmodel.spec import Source


@dataclass(frozen=True)
class Moments:
    """Bytes of one kind of memory of one rank.

    A steady step peaks at the start of a backward pass, when activations are whole, or at its end, when gradients
    are; which of the two is decided for all kinds together.
    """

    name: str
    backward_start_bytes: int = 0
    """The backward pass of the last micro-batch starts; with several, gradients of the earlier ones are there."""
    backward_end_bytes: int = 0
    """It ends, and gradients are reduced."""
    optimizer_step_bytes: int = 0
    checkpoint_bytes: int = 0
    source: Source = Source.ANALYTIC

    @classmethod
    def always(cls, name: str, size_bytes: int) -> Moments:
        """Memory that stays allocated."""
        return cls(name, size_bytes, size_bytes, size_bytes, size_bytes)
