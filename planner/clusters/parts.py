"""Parts of a cluster that are built alike: one of each kind stands for all, however many there are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from costmodel.spec import ClusterSpec, NodeTopology, Tier


@dataclass(frozen=True)
class Part:
    """A row of ranks with whole units of some tiers, and whole machines where their topology was read."""

    ranks: range
    like: range
    """The first part that is built in the same way, maybe this one."""


def parts(cluster: ClusterSpec, tiers: Sequence[Tier]) -> tuple[Part, ...]:
    """Parts with whole units of `tiers`, each as small as can be, in the order of the ranks."""
    # What ends after how many ranks: parts with the same ends inside are alike.
    ends: defaultdict[int, list[tuple[str, int]]] = defaultdict(list)
    whole = set(range(1, cluster.num_devices + 1))
    for index, tier in enumerate(tiers):
        of_tier = list(accumulate(tier.sizes(cluster.num_devices)))
        whole.intersection_update(of_tier)
        for end in of_tier:
            ends[end].append(("unit", index))
    for kind, ranks in _machines_with_topology(cluster):
        whole.difference_update(ranks[1:])
        ends[ranks.stop].append(("machine", kind))
    found: list[Part] = []
    known: dict[tuple[object, ...], range] = {}
    start = 0
    for end in sorted(whole):
        inside = tuple((rank - start, *ends[rank]) for rank in range(start + 1, end) if rank in ends)
        ranks = range(start, end)
        found.append(Part(ranks, known.setdefault((len(ranks), inside, *ends.get(end, ())), ranks)))
        start = end
    return tuple(found)


def _machines_with_topology(cluster: ClusterSpec) -> Iterator[tuple[int, range]]:
    """Which topology, and the ranks of every machine that has one."""
    kinds: list[NodeTopology] = []
    end = 0
    for group in cluster.nodes:
        start, end = end, end + group.num_devices
        topology, size = group.node.topology, group.node.num_devices
        if topology is not None:
            if topology not in kinds:
                kinds.append(topology)
            kind = kinds.index(topology)
            yield from ((kind, range(first, first + size)) for first in range(start, end, size))
