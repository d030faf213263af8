"""Stage table: what a stage costs for every number of layers it may hold, with the recompute that memory asks for."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property

from costmodel.memory import StageView, stage_memory, stage_moments
from costmodel.price import LayerPrice
from costmodel.setting import Mesh, Setting
from costmodel.spec import ModelSpec, Recompute
from costmodel.stage_price import StagePrice, stage_price
from costmodel.uncertainty import memory_bounds_bytes
from planner.search.deadline import Deadline
from planner.search.recompute_set import RecomputedKind, cheapest_set


@dataclass(frozen=True)
class StageOption:
    """One way to fill a stage."""

    num_layers: int
    recomputed: tuple[int, ...]
    """How many layers of each kind are recomputed, the first ones of the stage; kinds as in `ModelSpec.distinct`."""
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
    _options: dict[tuple[int, ...], StageOption | None] = field(default_factory=dict)

    def option(self, stage: int, start: int, num_layers: int) -> StageOption | None:
        """Stage `stage` with `num_layers` layers from layer `start` on; None where it does not fit into memory.

        Raises OutOfTime where it is not known yet and the deadline has passed.
        """
        key = self._key(stage, start, num_layers)
        if key not in self._options:
            self.deadline.check()
            self._options[key] = self._compute(stage, start, num_layers)
        return self._options[key]

    def modes(self, option: StageOption, start: int) -> tuple[Recompute, ...]:
        """The recompute mode of each layer of the stage that `option` fills from layer `start` on."""
        layers = range(start, start + option.num_layers)
        left, recomputed = list(option.recomputed), []
        for index in recomputable(self.setting.model, layers):
            kind = self.setting.model.distinct_index[index]
            if left[kind]:
                left[kind] -= 1
                recomputed.append(index)
        return _modes(layers, recomputed)

    def _key(self, stage: int, start: int, num_layers: int) -> tuple[int, ...]:
        """What the cost of a stage hangs on: which layers it holds, whatever their order, and whether the first or
        last of the model, which are never recomputed, is among them. Only a rule that takes the first blocks of a
        stage asks for the order."""
        if self.num_recomputed is not None:
            return (stage, -1 if self.uniform else start, num_layers)
        stop = start + num_layers
        return (stage, start == 0, stop == len(self.prices), *self._composition(start, stop))

    def _composition(self, start: int, stop: int) -> tuple[int, ...]:
        """How many layers of each kind stand from `start` on before `stop`."""
        counts = self._prefix_counts
        return tuple(after - before for before, after in zip(counts[start], counts[stop], strict=True))

    @cached_property
    def _prefix_counts(self) -> list[tuple[int, ...]]:
        counts = [0] * len(self.setting.model.distinct)
        found = [tuple(counts)]
        for kind in self.setting.model.distinct_index:
            counts[kind] += 1
            found.append(tuple(counts))
        return found

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
        return stage_memory(self._view(stage, start, modes)).peak_bytes

    def _view(self, stage: int, start: int, modes: tuple[Recompute, ...]) -> StageView:
        layers = slice(start, start + len(modes))
        return StageView(self.setting, self.mesh, stage, self.setting.model.layers[layers], self.prices[layers], modes)

    @cached_property
    def uniform(self) -> bool:
        """Whether all layers between the first and the last are equal, so that a stage's cost does not depend on where
        it starts."""
        return len(set(self.setting.model.distinct_index[1:-1])) <= 1

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
        recomputed = [0] * len(self.setting.model.distinct)
        for index, mode in zip(layers, modes, strict=True):
            recomputed[self.setting.model.distinct_index[index]] += mode is Recompute.FULL
        price = stage_price(self.prices[start : start + num_layers], modes)
        return StageOption(num_layers, tuple(recomputed), price)

    def _fastest_that_fits(self, stage: int, layers: range, blocks: list[int]) -> tuple[Recompute, ...] | None:
        """The set of recomputed layers that adds least time among those that fit, or None where none fits."""
        kept = self._view(stage, layers.start, _modes(layers, []))
        moments, limit_bytes = stage_moments(kept), self._limit_bytes
        if max(moments.optimizer_step_bytes, moments.checkpoint_bytes) > limit_bytes:
            return None
        if max(moments.backward_start_bytes, moments.backward_end_bytes) <= limit_bytes:
            return _modes(layers, [])

        def needed_bytes(working_bytes: int) -> int | None:
            """Activations of micro-batches in flight are there when a backward pass starts, and gone when it ends; the
            working set of a recomputed layer is there at both."""
            if moments.backward_end_bytes + working_bytes > limit_bytes:
                return None
            return -(-(moments.backward_start_bytes + working_bytes - limit_bytes) // kept.in_flight)

        chosen = cheapest_set(self._kinds(blocks), needed_bytes, self.deadline)
        return None if chosen is None else _modes(layers, chosen)

    def _kinds(self, blocks: list[int]) -> list[RecomputedKind]:
        """The layers `blocks`, equal ones together."""
        numbers: dict[int, list[int]] = {}
        for index in blocks:
            numbers.setdefault(self.setting.model.distinct_index[index], []).append(index)
        return [self._kind(tuple(equal), self.prices[equal[0]]) for equal in numbers.values()]

    @staticmethod
    def _kind(layers: tuple[int, ...], price: LayerPrice) -> RecomputedKind:
        return RecomputedKind(
            layers=layers,
            time_s=price.recompute_s,
            freed_bytes=price.saved_bytes - price.input_bytes,
            working_bytes=price.saved_bytes,
        )

    @cached_property
    def _limit_bytes(self) -> int:
        """The highest predicted peak that is within the limit."""
        low, high = 0, 2 * self.setting.cluster.device.memory_limit_bytes
        return (
            bisect.bisect_right(
                range(low, high), 0, key=lambda peak: not within_limit(self.setting, peak, allow_tight=self.allow_tight)
            )
            - 1
        )

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
