"""A cluster as a graph: devices, and the units of every tier as the switches that join them.

    device -- unit of the innermost tier -- unit of the next tier -- ... -- the outermost

An edge is what leaves a device or unit: its link, its bandwidth per device and its latency. Inside a machine whose
topology was read, pairs of devices that share links of their own, or a way over PCIe, are joined directly as well.
`costmodel.collectives.crossings` counts the same hops by arithmetic; a test holds the two against each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import networkx

from costmodel.spec import ClusterSpec, Pair, PathKind, Tier

Vertex = tuple[str, int, int]
"""("device", 0, rank) or ("unit", index of the tier, number of the unit)."""
Graph: TypeAlias = "networkx.Graph[Vertex]"


def cluster_graph(cluster: ClusterSpec) -> Graph:
    """Vertices carry `machine` (devices only); edges carry `tier`, or `pair` where a topology joins two devices."""
    graph: Graph = networkx.Graph()
    num_devices = cluster.num_devices
    for machine, ranks in enumerate(_rows(cluster.node_sizes)):
        for rank in ranks:
            graph.add_node(("device", 0, rank), machine=machine)
    inner: list[tuple[Vertex, range]] = [(("device", 0, rank), range(rank, rank + 1)) for rank in range(num_devices)]
    for index, tier in enumerate(cluster.tiers):
        outer: list[tuple[Vertex, range]] = []
        for unit, ranks in enumerate(_rows(tier.sizes(num_devices))):
            vertex = ("unit", index, unit)
            graph.add_edges_from((vertex, below, {"tier": tier}) for below, held in inner if held.start in ranks)
            outer.append((vertex, ranks))
        inner = outer
    _add_topologies(graph, cluster)
    return graph


def _rows(sizes: Sequence[int]) -> Iterator[range]:
    first = 0
    for size in sizes:
        yield range(first, first + size)
        first += size


def _add_topologies(graph: Graph, cluster: ClusterSpec) -> None:
    first = 0
    for group in cluster.nodes:
        topology = group.node.topology
        for _ in range(group.num_nodes):
            rank_of = {gpu: first + place for place, gpu in enumerate(topology.gpus if topology is not None else ())}
            for pair in topology.pairs if topology is not None else ():
                one, other = (rank_of.get(name) for name in pair.pair)
                if one is not None and other is not None:
                    graph.add_edge(("device", 0, one), ("device", 0, other), pair=pair)
            first += group.node.num_devices


def tiers_between(graph: Graph, one: int, other: int) -> tuple[Tier, ...]:
    """Tiers that data meets between two ranks, each once, from the inside out."""
    switched = networkx.subgraph_view(graph, filter_edge=lambda a, b: "tier" in graph.edges[a, b])
    path = networkx.shortest_path(switched, ("device", 0, one), ("device", 0, other))
    return tuple(dict.fromkeys(graph.edges[edge]["tier"] for edge in pairwise(path)))


def ring_meets(graph: Graph, ranks: Sequence[int]) -> Counter[Tier]:
    """Hops of a ring through `ranks` in their order, by the outermost tier that each meets; the way back left out."""
    return Counter(tiers_between(graph, one, other)[-1] for one, other in pairwise(ranks))


def groups_of_axis(degrees: Sequence[int], axis: int) -> Iterator[tuple[int, ...]]:
    """Groups of ranks along one axis of a mesh whose first axis varies fastest, e.g. (tp, dp, pp)."""
    stride = 1
    for degree in degrees[:axis]:
        stride *= degree
    span, total = stride * degrees[axis], 1
    for degree in degrees:
        total *= degree
    for block in range(0, total, span):
        for offset in range(stride):
            yield tuple(range(block + offset, block + span, stride))


def islands(graph: Graph) -> tuple[tuple[int, ...], ...]:
    """Ranks that reach one another over NVLink or xGMI, by island; a rank without such links is one of its own."""
    direct = networkx.subgraph_view(graph, filter_edge=lambda a, b: _is_direct(graph.edges[a, b]))
    found = []
    for island in networkx.connected_components(direct):
        ranks = tuple(sorted(rank for kind, _, rank in island if kind == "device"))
        if ranks:
            found.append(ranks)
    return tuple(sorted(found))


def crosses_socket(graph: Graph, one: int, other: int) -> bool | None:
    """Whether data between two ranks of one machine crosses its sockets; None where its topology was not read."""
    edge = graph.get_edge_data(("device", 0, one), ("device", 0, other))
    if edge is None or "pair" not in edge:
        return None
    return bool(edge["pair"].kind is PathKind.SYS)


def _is_direct(edge: dict[str, Any]) -> bool:
    pair: Pair | None = edge.get("pair")
    tier: Tier | None = edge.get("tier")
    return pair.kind.is_direct if pair is not None else tier is not None and tier.link.is_direct
