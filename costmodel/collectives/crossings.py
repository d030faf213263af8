"""Which links a group of ranks meets on its way: the hops of a ring through its members, by the tier they cross."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from costmodel.price import Timed
from costmodel.spec import ClusterSpec, Source, Tier

MAX_CACHED = 4096
"""Groups whose crossings are remembered: a search asks for the same few hundred again and again."""


@dataclass(frozen=True)
class Crossing:
    """The hops of a ring that cross one tier."""

    tier: Tier
    num_hops: float
    num_links: float
    """Members that share an inner unit, the fewest of any: as many rings leave it side by side, over a link each."""
    num_members: float
    """Members that share a unit of the tier, the fewest of any."""

    @property
    def bandwidth_bytes_per_s(self) -> float:
        """At which the group's data crosses the tier; of a mesh, only the links between members carry it."""
        rate = self.num_links * self.tier.bandwidth_bytes_per_s
        return rate * (self.num_members - 1) / (self.tier.num_devices - 1) if self.tier.is_mesh else rate


def crossings(cluster: ClusterSpec, num_ranks: int, stride: int) -> tuple[tuple[Crossing, ...], ...]:
    """The crossings of every kind of group of `num_ranks` ranks, `stride` apart, the innermost tier first.

    Groups are aligned: they lie within `num_ranks` x `stride` consecutive ranks, one block of these after the other.
    Where not even one block fits, as for the first and the last stage of a pipeline, they begin at the first ranks.
    Where groups fit the units, all are alike; else there are as many kinds as lie across them in different ways.
    """
    sizes = tuple(tier.num_devices for tier in cluster.tiers)
    if _is_regular(sizes, cluster, num_ranks, stride):
        kinds: tuple[_Kind, ...] = (_in_equal_units(sizes, cluster.num_devices, num_ranks, stride),)
    else:
        units = tuple(tier.sizes(cluster.num_devices) for tier in cluster.tiers)
        kinds = _in_unequal_units(units, num_ranks, stride)
    return tuple(tuple(Crossing(cluster.tiers[index], *counts) for index, *counts in kind) for kind in kinds)


def slowest_group(
    cluster: ClusterSpec, num_ranks: int, stride: int, seconds: Callable[[Sequence[Crossing]], float]
) -> Timed:
    """The longest of what `seconds` makes of the crossings of each kind of group, worth its worst link."""
    times = ((seconds(crossed), crossed) for crossed in crossings(cluster, num_ranks, stride))
    time_s, crossed = max(times, key=lambda kind: kind[0])
    return Timed(time_s, priced(Source.worst(*(crossing.tier.source for crossing in crossed))))


def priced(source: Source) -> Source:
    """A formula on measured links is a fit."""
    return Source.FITTED if source is Source.MEASURED else source


_Kind = tuple[tuple[int, float, float, float], ...]
"""Index of the tier, hops that cross it, links side by side, members in a unit."""


def _is_regular(sizes: tuple[int, ...], cluster: ClusterSpec, num_ranks: int, stride: int) -> bool:
    """Whether all groups lie alike: units hold equal numbers of inner ones, groups fill units or lie within one, and so
    do the ranks from one member of a group to the next."""
    if any(tier.unit_sizes for tier in cluster.tiers):
        return False
    span = num_ranks * stride
    nested = [size for size in sizes if size < cluster.num_devices] + [cluster.num_devices]
    return all(outer % inner == 0 for inner, outer in pairwise(nested)) and all(
        size % length == 0 or length % size == 0 for size in nested for length in (span, stride)
    )


def _in_equal_units(sizes: tuple[int, ...], num_devices: int, num_ranks: int, stride: int) -> _Kind:
    found, inside, links = [], 1, 1
    for index, size in enumerate(sizes):
        outermost = index == len(sizes) - 1 or num_devices <= size
        shared = math.gcd(num_ranks * stride, size) // stride if not outermost else num_ranks
        within = max(inside, min(num_ranks, shared))
        if within > inside:
            found.append((index, num_ranks / inside - num_ranks / within, float(links), float(within)))
            inside = links = within
        if inside == num_ranks:
            break
    return tuple(found)


@lru_cache(maxsize=MAX_CACHED)
def _in_unequal_units(units: tuple[tuple[int, ...], ...], num_ranks: int, stride: int) -> tuple[_Kind, ...]:
    """By going through every group."""
    import numpy as np

    num_devices, span = sum(units[0]), num_ranks * stride
    if span <= num_devices:
        # Ranks beyond the last whole block are in no group.
        first = np.arange(num_devices // span)[:, None] * span + np.arange(stride)
    else:
        first = np.arange(num_devices - (num_ranks - 1) * stride)
    members = first.reshape(-1, 1) + stride * np.arange(num_ranks)
    # Of each pair of neighbours, the innermost tier that holds both.
    levels = np.full((len(members), num_ranks - 1), len(units) - 1, dtype=np.int16)
    for index in reversed(range(len(units))):
        unit = np.repeat(np.arange(len(units[index])), units[index])[members]
        levels[unit[:, 1:] == unit[:, :-1]] = index
    return tuple(tuple(_of_ring(kind.tolist())) for kind in np.unique(levels, axis=0))


def _of_ring(levels: list[int]) -> Iterator[tuple[int, float, float, float]]:
    for level in sorted(set(levels)):
        inner, outer = _rows(levels, level), _rows(levels, level + 1)
        links = min(end - start for start, end in inner if _touches(levels, level, start, end)) if level else 1
        members = min(end - start for start, end in outer if level in levels[start : end - 1])
        yield level, float(levels.count(level)), float(links), float(members)


def _rows(levels: list[int], level: int) -> list[tuple[int, int]]:
    """Members, from first to beyond the last, with hops below `level` between them."""
    ends = [place + 1 for place, found in enumerate(levels) if found >= level] + [len(levels) + 1]
    return list(zip([0, *ends], ends, strict=False))


def _touches(levels: list[int], level: int, start: int, end: int) -> bool:
    """Whether a hop of `level` reaches or leaves the row of members from `start` to `end`."""
    return level in (*levels[max(0, start - 1) : start], *levels[end - 1 : end])
