"""A cluster as a graph: devices, and the units of every tier as the switches that join them.

    device -- unit of the innermost tier -- unit of the next tier -- ... -- the outermost

An edge is what leaves a device or unit: its link, its bandwidth per device and its latency. Inside a machine whose
topology was read, pairs of devices that share links of their own, or a way over PCIe, are joined directly as well.
`costmodel.collectives.crossings` counts the same hops by arithmetic; a test holds the two against each other.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Any, TypeAlias

import networkx

from costmodel.spec import ClusterSpec, NodeTopology, Pair, PathKind, Tier

Vertex = tuple[str, int, int]
"""("device", 0, rank) or ("unit", index of the tier, number of the unit)."""
Graph: TypeAlias = "networkx.Graph[Vertex]"
Edge = dict[str, Any]
"""Holds `tier`, or `pair` where a topology joins two devices."""


def cluster_graph(cluster: ClusterSpec, ranks: range | None = None) -> Graph:
    """The devices of all ranks or of `ranks`, which share no machine with others, and the units that hold them.

    A vertex knows the unit it is in as `outer`.
    """
    graph: Graph = networkx.Graph()
    wanted = range(cluster.num_devices) if ranks is None else ranks
    inner: list[tuple[Vertex, int]] = [(("device", 0, rank), rank) for rank in wanted]
    graph.add_nodes_from(vertex for vertex, _ in inner)
    for index, tier in enumerate(cluster.tiers):
        starts = list(accumulate(tier.sizes(cluster.num_devices), initial=0))
        units: dict[Vertex, int] = {}
        for vertex, first in inner:
            number = bisect_right(starts, first) - 1
            unit: Vertex = ("unit", index, number)
            units[unit] = starts[number]
            graph.add_edge(vertex, unit, tier=tier)
            graph.nodes[vertex]["outer"] = unit
        inner = list(units.items())
    end = 0
    for group in cluster.nodes:
        start, end = end, end + group.num_devices
        if group.node.topology is not None:
            for first in range(start, end, group.node.num_devices):
                if first in wanted:
                    _add_pairs(graph, group.node.topology, first)
    return graph


def topology_graph(topology: NodeTopology) -> Graph:
    """The GPUs of one machine, by their places in its topology, and what joins every pair of them."""
    graph: Graph = networkx.Graph()
    graph.add_nodes_from(("device", 0, place) for place in range(len(topology.gpus)))
    _add_pairs(graph, topology, 0)
    return graph


def _add_pairs(graph: Graph, topology: NodeTopology, first_rank: int) -> None:
    rank_of = {gpu: first_rank + place for place, gpu in enumerate(topology.gpus)}
    for pair in topology.pairs:
        one, other = (rank_of.get(name) for name in pair.pair)
        if one is not None and other is not None:
            graph.add_edge(("device", 0, one), ("device", 0, other), pair=pair)


def tiers_between(graph: Graph, one: int, other: int) -> tuple[Tier, ...]:
    """Tiers that data meets between two ranks, each once, from the inside out."""
    tiers: list[Tier] = []
    here: Vertex = ("device", 0, one)
    there: Vertex = ("device", 0, other)
    while here != there:
        outer: Vertex = graph.nodes[here]["outer"]
        tiers.append(graph.edges[here, outer]["tier"])
        here, there = outer, graph.nodes[there]["outer"]
    return tuple(tiers)


def pair_between(graph: Graph, one: int, other: int) -> Pair | None:
    """What the topology of their machine says of two ranks; None where it was not read, or does not say."""
    edge = graph.get_edge_data(("device", 0, one), ("device", 0, other))
    return None if edge is None else edge.get("pair")


def groups_of_axis(degrees: Sequence[int], axis: int) -> Iterator[range]:
    """Groups of ranks along one axis of a mesh whose first axis varies fastest, e.g. (tp, dp, pp)."""
    stride = 1
    for degree in degrees[:axis]:
        stride *= degree
    span, total = stride * degrees[axis], 1
    for degree in degrees:
        total *= degree
    for block in range(0, total, span):
        for offset in range(stride):
            yield range(block + offset, block + span, stride)


def joined(graph: Graph, joins: Callable[[Edge], bool]) -> tuple[tuple[int, ...], ...]:
    """Ranks that reach one another over such edges as `joins` takes; a rank without them is alone."""
    over = networkx.subgraph_view(graph, filter_edge=lambda a, b: joins(graph.edges[a, b]))
    found = []
    for component in networkx.connected_components(over):
        ranks = tuple(sorted(rank for kind, _, rank in component if kind == "device"))
        if ranks:
            found.append(ranks)
    return tuple(sorted(found))


def islands(graph: Graph) -> tuple[tuple[int, ...], ...]:
    """Ranks that reach one another over NVLink or xGMI, by island; a rank without such links is one of its own."""
    return joined(graph, _is_direct)


def crosses_socket(graph: Graph, one: int, other: int) -> bool | None:
    """Whether data between two ranks of one machine crosses its sockets; None where its topology was not read."""
    pair = pair_between(graph, one, other)
    return None if pair is None else pair.kind is PathKind.SYS


def _is_direct(edge: Edge) -> bool:
    pair: Pair | None = edge.get("pair")
    tier: Tier | None = edge.get("tier")
    return pair.kind.is_direct if pair is not None else tier is not None and tier.link.is_direct
