"""What rings meet on their way through the groups of a layout: along each axis, whose groups are rows of ranks.

Hops are looked up in the graph of one part of each kind; between parts there is only the outermost tier.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from costmodel.errors import BadInputError
from costmodel.spec import ClusterSpec, NodeTopology, Pair, PathKind, Tier
from planner.clusters.parts import parts


@dataclass(frozen=True)
class Axis:
    """One axis of a layout, e.g. `tp` of 8 ranks; of several axes the first varies fastest over the ranks."""

    name: str
    degree: int


@dataclass(frozen=True)
class Link:
    """What a hop meets: the outermost tier on its way, or what the driver's tool says of the pair."""

    name: str
    kind: str
    bandwidth_bytes_per_s: float | None = None
    """Per device and direction; None where only a topology is known."""


@dataclass(frozen=True)
class Alike:
    """Groups whose rings meet the same."""

    num_groups: int
    first_rank: int
    """Of the first of them."""
    hops: tuple[tuple[Link, int], ...]
    """How many hops meet each link, from the nearest; the way back from the last rank to the first is left out."""


@dataclass(frozen=True)
class Ring:
    """The rings of one axis."""

    axis: Axis
    stride: int
    """Ranks from one member of a group to the next."""
    kinds: tuple[Alike, ...]
    """The kind with the most groups first."""
    slowest: Link | None
    """The slowest that any of them meets; None for groups of one rank."""


def rings_of_cluster(cluster: ClusterSpec, axes: Sequence[Axis]) -> tuple[Ring, ...]:
    """The rings of every axis; the degrees multiply to the devices of `cluster`."""
    links = [Link(tier.name, tier.link.value, tier.bandwidth_bytes_per_s) for tier in cluster.tiers]
    by_rate = sorted(cluster.tiers, key=lambda tier: (-tier.bandwidth_bytes_per_s, tier.latency_s))
    slowness = [by_rate.index(tier) for tier in cluster.tiers]
    return tuple(_rings(axes, links, slowness, lambda stride: _hops_of_cluster(cluster, stride)))


def rings_of_topology(topology: NodeTopology, axes: Sequence[Axis], where: str) -> tuple[Ring, ...]:
    """The same inside one machine, by what joins each pair of GPUs.

    Raises BadInputError where the degrees do not multiply to its GPUs, or where a pair on the way is missing.
    """
    num_ranks = math.prod(axis.degree for axis in axes)
    if num_ranks != len(topology.gpus):
        raise BadInputError(
            f"{where}: describes {len(topology.gpus)} GPUs, but the degrees of --groups multiply to {num_ranks}"
        )
    kinds = list(PathKind)
    pairs = sorted(topology.pairs, key=lambda pair: (kinds.index(pair.kind), -pair.num_links))
    links = list(dict.fromkeys(_link(pair) for pair in pairs))
    return tuple(
        _rings(axes, links, range(len(links)), lambda stride: _hops_of_topology(topology, links, stride, where))
    )


def _rings(
    axes: Sequence[Axis], links: Sequence[Link], slowness: Sequence[int], hops_of: Callable[[int], Sequence[int]]
) -> Iterator[Ring]:
    """`hops_of` a stride: for each rank, the index of the link on the way to the rank that is so much further."""
    from planner.clusters.graph import groups_of_axis

    degrees = [axis.degree for axis in axes]
    for index, axis in enumerate(axes):
        stride = math.prod(degrees[:index])
        hops = hops_of(stride) if axis.degree > 1 else ()
        first_of: dict[tuple[tuple[int, int], ...], int] = {}
        counts: Counter[tuple[tuple[int, int], ...]] = Counter()
        for group in groups_of_axis(degrees, index):
            met = tuple(sorted(Counter(hops[rank] for rank in group[:-1]).items()))
            first_of.setdefault(met, group[0])
            counts[met] += 1
        kinds = tuple(
            Alike(number, first_of[met], tuple((links[link], count) for link, count in met))
            for met, number in counts.most_common()
        )
        crossed = {link for met in counts for link, _ in met}
        slowest = links[max(crossed, key=slowness.__getitem__)] if crossed else None
        yield Ring(axis, stride, kinds, slowest)


def _hops_of_cluster(cluster: ClusterSpec, stride: int) -> list[int]:
    from planner.clusters.graph import cluster_graph, tiers_between

    index_of: dict[Tier, int] = {tier: index for index, tier in enumerate(cluster.tiers)}
    levels = [len(cluster.tiers) - 1] * cluster.num_devices
    inside: dict[range, list[int]] = {}
    for part in parts(cluster, cluster.tiers[:-1]):
        like = part.like
        if like not in inside:
            graph = cluster_graph(cluster, like)
            tiers = (tiers_between(graph, rank, rank + stride)[-1] for rank in like[:-stride])
            inside[like] = [index_of[tier] for tier in tiers]
        levels[part.ranks.start : part.ranks.start + len(inside[like])] = inside[like]
    return levels


def _hops_of_topology(topology: NodeTopology, links: Sequence[Link], stride: int, where: str) -> list[int]:
    from planner.clusters.graph import pair_between, topology_graph

    graph, gpus = topology_graph(topology), topology.gpus
    found = []
    for place in range(len(gpus) - stride):
        pair = pair_between(graph, place, place + stride)
        if pair is None:
            raise BadInputError(
                f"{where}: does not say what joins {gpus[place]} and {gpus[place + stride]}; give the whole output"
            )
        found.append(links.index(_link(pair)))
    return found


def _link(pair: Pair) -> Link:
    return Link(pair.label, pair.kind.value)
