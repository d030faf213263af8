"""Stage table: what a stage costs for every number of layers it may hold, with the recompute that memory asks for."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from functools import cached_property

from costmodel.memory import StageView, stage_memory
from costmodel.price import LayerPrice
from costmodel.setting import Mesh, Setting
from costmodel.spec import DenseBlock, Recompute
from costmodel.stage_price import StagePrice, stage_price
from costmodel.uncertainty import memory_bounds_bytes


@dataclass(frozen=True)
class StageOption:
    """One way to fill a stage: its first `num_recomputed` blocks are recomputed."""

    num_layers: int
    num_recomputed: int
    price: StagePrice


@dataclass
class StageTable:
    """Options of one mesh, computed when asked for.

    `num_recomputed` is a fixed number of blocks per stage (a stage with fewer recomputes all), or None for the least
    that fits. With equal blocks the least number is the fastest choice, since recomputing a block only adds time, and
    which of them are recomputed makes no difference.
    """

    setting: Setting
    mesh: Mesh
    prices: tuple[LayerPrice, ...]
    num_recomputed: int | None
    allow_tight: bool
    _options: dict[tuple[int, int, int], StageOption | None] = field(default_factory=dict)

    def option(self, stage: int, start: int, num_layers: int) -> StageOption | None:
        """Stage `stage` with `num_layers` layers from layer `start` on; None where it does not fit into memory."""
        key = (stage, -1 if self.uniform else start, num_layers)
        if key not in self._options:
            self._options[key] = self._compute(stage, start, num_layers)
        return self._options[key]

    def least_s(self, start: int, num_layers: int) -> tuple[float, float]:
        """Forward and backward time of these layers without recomputation."""
        forward, backward = self._prefix_sums
        stop = start + num_layers
        return forward[stop] - forward[start], backward[stop] - backward[start]

    @cached_property
    def _prefix_sums(self) -> tuple[list[float], list[float]]:
        forward = itertools.accumulate((price.forward_s for price in self.prices), initial=0.0)
        backward = itertools.accumulate((price.backward_s for price in self.prices), initial=0.0)
        return list(forward), list(backward)

    def recompute_modes(self, start: int, num_layers: int, num_recomputed: int) -> tuple[Recompute, ...]:
        """The mode of each of the stage's layers: its first `num_recomputed` blocks in full."""
        modes, left = [], num_recomputed
        for layer in self.setting.model.layers[start : start + num_layers]:
            full = isinstance(layer, DenseBlock) and left > 0
            modes.append(Recompute.FULL if full else Recompute.NONE)
            left -= full
        return tuple(modes)

    def peak_bytes(self, stage: int, start: int, num_layers: int, num_recomputed: int) -> int:
        """Predicted peak of the stage."""
        return stage_memory(
            StageView(
                self.setting,
                self.mesh,
                stage,
                self.setting.model.layers[start : start + num_layers],
                self.prices[start : start + num_layers],
                self.recompute_modes(start, num_layers, num_recomputed),
            )
        ).peak_bytes

    @property
    def uniform(self) -> bool:
        """Whether all blocks are equal, so that a stage's cost does not depend on where it starts."""
        return len(self.setting.model.runs) == 3

    def _compute(self, stage: int, start: int, num_layers: int) -> StageOption | None:
        layers = self.setting.model.layers[start : start + num_layers]
        num_blocks = sum(isinstance(layer, DenseBlock) for layer in layers)
        if self.num_recomputed is not None:
            count = min(self.num_recomputed, num_blocks)
            count = count if self._fits(stage, start, num_layers, count) else -1
        else:
            count = self._least_recomputed(stage, start, num_layers, num_blocks)
        if count < 0:
            return None
        modes = self.recompute_modes(start, num_layers, count)
        return StageOption(num_layers, count, stage_price(self.prices[start : start + num_layers], modes))

    def _least_recomputed(self, stage: int, start: int, num_layers: int, num_blocks: int) -> int:
        """The fewest recomputed blocks that fit, or -1. From one on, each more frees memory, so bisection is exact;
        the first also adds a working set, so it may need more than none."""
        if self._fits(stage, start, num_layers, 0):
            return 0
        if num_blocks == 0 or not self._fits(stage, start, num_layers, num_blocks):
            return -1
        low, high = 1, num_blocks
        while low < high:
            middle = (low + high) // 2
            if self._fits(stage, start, num_layers, middle):
                high = middle
            else:
                low = middle + 1
        return low

    def _fits(self, stage: int, start: int, num_layers: int, num_recomputed: int) -> bool:
        low_bytes, high_bytes = memory_bounds_bytes(self.peak_bytes(stage, start, num_layers, num_recomputed))
        limit_bytes = self.setting.cluster.device.memory_limit_bytes
        return (low_bytes if self.allow_tight else high_bytes) <= limit_bytes
