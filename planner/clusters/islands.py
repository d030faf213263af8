"""Which GPUs share NVLink or xGMI, and between which of a machine data crosses its sockets: read from the graph."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, groupby

from costmodel.spec import ClusterSpec, NodeTopology, PathKind
from planner.clusters.parts import parts


@dataclass(frozen=True)
class Islands:
    """`count` islands, each `stride` ranks after the one before."""

    ranks: tuple[int, ...]
    """Of the first one."""
    count: int
    stride: int

    @property
    def is_row(self) -> bool:
        """Whether the ranks of each follow one another."""
        return self.ranks[-1] - self.ranks[0] == len(self.ranks) - 1


@dataclass(frozen=True)
class Sockets:
    """The GPUs of a machine, by what they reach without crossing a socket."""

    groups: tuple[tuple[str, ...], ...]
    across: tuple[tuple[str, str], ...]
    """Pairs that cross a socket although others of their group join them without, as NVLink bridges may."""
    unknown: tuple[tuple[str, str], ...]
    """Pairs of which the output says nothing; they keep no GPUs apart."""


def islands_of_cluster(cluster: ClusterSpec) -> tuple[Islands, ...]:
    """Islands of several ranks in the order of their first ranks; empty where no link is NVLink or xGMI."""
    if cluster.tiers and cluster.tiers[-1].link.is_direct:
        return (Islands(tuple(range(cluster.num_devices)), 1, cluster.num_devices),)
    tiers = [tier for tier in cluster.tiers if tier.link.is_direct]
    topologies = [group.node.topology for group in cluster.nodes if group.node.topology is not None]
    if not tiers and not any(pair.kind.is_direct for topology in topologies for pair in topology.pairs):
        return ()
    # Imported only here: it takes longer than reading a cluster.
    from planner.clusters.graph import cluster_graph, islands

    rows = parts(cluster, tiers)
    by_kind = {like: islands(cluster_graph(cluster, like)) for like in {part.like for part in rows}}
    found = []
    for like, run in groupby(rows, key=lambda part: part.like):
        first, *others = run
        for island in by_kind[like]:
            if len(island) > 1:
                ranks = tuple(rank - like.start + first.ranks.start for rank in island)
                found.append(Islands(ranks, 1 + len(others), len(like)))
    return tuple(found)


def islands_of_topology(topology: NodeTopology) -> tuple[tuple[str, ...], ...]:
    """GPUs that reach one another over links of their own, by island; a GPU without such links is one of its own."""
    from planner.clusters.graph import islands, topology_graph

    return tuple(tuple(topology.gpus[place] for place in island) for island in islands(topology_graph(topology)))


def sockets_of_topology(topology: NodeTopology) -> Sockets:
    """Between which GPUs data crosses a socket."""
    from planner.clusters.graph import crosses_socket, joined, topology_graph

    graph, gpus = topology_graph(topology), topology.gpus
    crosses = {pair: crosses_socket(graph, *pair) for pair in combinations(range(len(gpus)), 2)}
    unknown = [pair for pair, crossed in crosses.items() if crossed is None]
    graph.add_edges_from((("device", 0, one), ("device", 0, other)) for one, other in unknown)
    groups = joined(graph, lambda edge: "pair" not in edge or edge["pair"].kind is not PathKind.SYS)
    across = [pair for group in groups for pair in combinations(group, 2) if crosses[pair]]
    return Sockets(
        tuple(tuple(gpus[place] for place in group) for group in groups),
        tuple((gpus[one], gpus[other]) for one, other in across),
        tuple((gpus[one], gpus[other]) for one, other in unknown),
    )
