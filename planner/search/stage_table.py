"""Stage table: what a stage costs for every number of layers it may hold, with the recompute that memory asks for."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from costmodel.memory import StageView, stage_memory
from costmodel.price import LayerPrice
from costmodel.setting import Mesh, Setting
from costmodel.spec import Layer, ModelSpec, Recompute
from costmodel.stage_price import StagePrice, stage_price
from costmodel.uncertainty import memory_bounds_bytes
from planner.search.deadline import Deadline


@dataclass(frozen=True)
class StageOption:
    """One way to fill a stage."""

    num_layers: int
    recompute: tuple[Recompute, ...]
    price: StagePrice


@dataclass
class StageTable:
    """Options of one mesh, computed when asked for.

    `num_recomputed` is a fixed number of first blocks per stage (a stage with fewer recomputes all), or None for the
    set of blocks that adds least time among those that fit. Recomputing only lengthens the backward pass of its
    stage, so no other set can be part of a faster plan.
    """

    setting: Setting
    mesh: Mesh
    prices: tuple[LayerPrice, ...]
    num_recomputed: int | None
    allow_tight: bool
    deadline: Deadline = field(default_factory=Deadline)
    """Once it has passed, no option is computed any more."""
    _options: dict[tuple[int, int, int], StageOption | None] = field(default_factory=dict)

    def option(self, stage: int, start: int, num_layers: int) -> StageOption | None:
        """Stage `stage` with `num_layers` layers from layer `start` on; None where it does not fit into memory.

        Raises OutOfTime where it is not known yet and the deadline has passed.
        """
        key = (stage, -1 if self.uniform else start, num_layers)
        if key not in self._options:
            self.deadline.check()
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

    def peak_bytes(self, stage: int, start: int, modes: tuple[Recompute, ...]) -> int:
        """Predicted peak of the stage that holds one layer per mode, from layer `start` on."""
        stop = start + len(modes)
        return stage_memory(
            StageView(
                self.setting, self.mesh, stage, self.setting.model.layers[start:stop], self.prices[start:stop], modes
            )
        ).peak_bytes

    @property
    def uniform(self) -> bool:
        """Whether all blocks are equal, so that a stage's cost does not depend on where it starts."""
        return len(self.setting.model.runs) == 3

    def _compute(self, stage: int, start: int, num_layers: int) -> StageOption | None:
        layers = range(start, start + num_layers)
        blocks = recomputable(self.setting.model, layers)
        if self.num_recomputed is None:
            modes = self._fastest_that_fits(stage, layers, blocks)
        else:
            modes = _modes(layers, blocks[: self.num_recomputed])
            if not self._fits(stage, start, modes):
                return None
        if modes is None:
            return None
        return StageOption(num_layers, modes, stage_price(self.prices[start : start + num_layers], modes))

    def _fastest_that_fits(self, stage: int, layers: range, blocks: list[int]) -> tuple[Recompute, ...] | None:
        """The set of recomputed blocks that adds least time among those that fit, or None where none fits."""

        def fits(recomputed: list[int]) -> bool:
            return self._fits(stage, layers.start, _modes(layers, recomputed))

        if fits([]):
            return _modes(layers, [])
        best: list[int] | None = None
        best_s = math.inf
        for others, kind in self._choices(blocks):
            if self._recompute_s(others) >= best_s:
                continue
            chosen = others
            if not others or not fits(others):
                # From one on, each more of a kind frees memory, so bisection is exact; the first adds a working set,
                # which may be more than it frees.
                some = [others + kind[:count] for count in range(1, len(kind) + 1)]
                if not some or not fits(some[-1]):
                    continue
                chosen = some[bisect.bisect_left(some, True, hi=len(some) - 1, key=fits)]
            if self._recompute_s(chosen) < best_s:
                best, best_s = chosen, self._recompute_s(chosen)
        return _modes(layers, best) if best is not None else None

    def _choices(self, blocks: list[int]) -> Iterator[tuple[list[int], list[int]]]:
        """Every choice among the blocks of all kinds but the most frequent, and the blocks of that one.

        Which blocks of a kind are recomputed makes no difference, so its first ones are.
        """
        kinds: dict[Layer, list[int]] = {}
        for index in blocks:
            kinds.setdefault(self.setting.model.layers[index], []).append(index)
        *others, most = sorted(kinds.values(), key=len) or [[]]
        for counts in itertools.product(*(range(len(kind) + 1) for kind in others)):
            yield [index for kind, count in zip(others, counts, strict=True) for index in kind[:count]], most

    def _recompute_s(self, recomputed: list[int]) -> float:
        return sum(self.prices[index].recompute_s for index in recomputed)

    def _fits(self, stage: int, start: int, modes: tuple[Recompute, ...]) -> bool:
        return within_limit(self.setting, self.peak_bytes(stage, start, modes), allow_tight=self.allow_tight)


def within_limit(setting: Setting, peak_bytes: int, *, allow_tight: bool) -> bool:
    """Whether a predicted peak is within the limit: its upper bound, or with `allow_tight` its lower bound."""
    low_bytes, high_bytes = memory_bounds_bytes(peak_bytes)
    return (low_bytes if allow_tight else high_bytes) <= setting.cluster.device.memory_limit_bytes


def recomputable(model: ModelSpec, layers: range) -> list[int]:
    """Those of `layers` that a plan may recompute: all but the first and the last of the model."""
    return [index for index in layers if 0 < index < len(model.layers) - 1]


def _modes(layers: range, recomputed: Collection[int]) -> tuple[Recompute, ...]:
    """One mode per layer: full for those in `recomputed`."""
    full = frozenset(recomputed)
    return tuple(Recompute.FULL if index in full else Recompute.NONE for index in layers)
