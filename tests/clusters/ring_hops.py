"""What a ring meets, counted hop by hop on the graph of a whole cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from costmodel.spec import Tier
from planner.clusters.graph import Graph, tiers_between


def ring_meets(graph: Graph, ranks: Sequence[int]) -> Counter[Tier]:
    """Hops of a ring through `ranks` in their order, by the outermost tier that each meets; the way back left out."""
    return Counter(tiers_between(graph, one, other)[-1] for one, other in pairwise(ranks))
