"""Prices: what a layer costs per micro-batch and per step, term by term."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from costmodel.spec import Source


@dataclass(frozen=True)
class Timed:
    """A time and where it comes from."""

    time_s: float
    source: Source

    def __add__(self, other: Timed) -> Timed:
        """One after the other; as trustworthy as the less trustworthy of those that take time."""
        if self.time_s == 0 or other.time_s == 0:
            return self if other.time_s == 0 else other
        return Timed(self.time_s + other.time_s, Source.worst(self.source, other.source))


@dataclass(frozen=True)
class PassPrice:
    """What one term adds to the forward and backward pass of one micro-batch through one layer."""

    term: str
    forward_s: float
    backward_s: float
    source: Source
    repeated_s: float | None = None
    """What a recomputed layer pays again, where that is not all of `forward_s`."""

    @property
    def recompute_s(self) -> float:
        """What a recomputed layer pays again."""
        return self.forward_s if self.repeated_s is None else self.repeated_s

    @property
    def recompute_source(self) -> Source:
        """Where that comes from: part of a measured pass is a computed share of it."""
        return self.source if self.repeated_s is None else Source.worst(self.source, Source.FITTED)


@dataclass(frozen=True)
class StepPrice:
    """What one term adds once per step."""

    term: str
    source: Source
    before_s: float = 0.0
    """Before the first forward pass of the stage."""
    after_s: float = 0.0
    """After its last backward pass."""


@dataclass(frozen=True)
class LayerPrice:
    """All costs of one layer on one rank."""

    passes: tuple[PassPrice, ...]
    steps: tuple[StepPrice, ...]
    num_params: int
    """On one tensor-parallel rank, before ZeRO."""
    num_expert_params: int
    """Those among them that belong to routed experts."""
    saved_bytes: int
    """Kept from forward to backward, per micro-batch, without recomputation."""
    saved_source: Source
    input_bytes: int
    """Kept instead where the layer is recomputed."""

    @cached_property
    def forward_s(self) -> float:
        """Forward pass of one micro-batch."""
        return sum(price.forward_s for price in self.passes)

    @cached_property
    def backward_s(self) -> float:
        """Backward pass of one micro-batch without recomputation."""
        return sum(price.backward_s for price in self.passes)

    @cached_property
    def recompute_s(self) -> float:
        """What recomputation adds to the backward pass."""
        return sum(price.recompute_s for price in self.passes)

    @cached_property
    def outside_s(self) -> float:
        """Once per step, before the first and after the last pass."""
        return sum(step.before_s + step.after_s for step in self.steps)
