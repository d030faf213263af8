"""Collectives between GPUs by NCCL's own cost model: the fastest of its algorithms and protocols (src/graph/tuning.cc).

    ring    base + rounds x sum over hops of their latency + moved bytes / (bandwidth x share)
    tree    base + 2 x (sum of hops inside + log2(nodes) x hop between) + bytes / (algorithm bandwidth x share)
    spread  base + what a rank sends beyond each tier over its own link there            all-to-all, gather, scatter
    NVLS    25 us + bytes / (algorithm bandwidth x share), inside a machine; 43 us + 20.9 us x log2(nodes) over several

Trees and NVLS are for all-reduce. A tree carries every byte up and down, so its algorithm bandwidth is half of what the
links carry; over two machines an adapter sees every byte only once each way, so all of it. Shares of trees depend on
the size; that NVLS starts as slowly is assumed, as NCCL has no such share for it.

How far it is off, as a factor either way, from 16 KiB on: inside a node, against the published series of A100, H100,
H200 and B200 that the links were not fitted to, 1.23 in the median and 1.61 at the 90th percentile
(tests/clusters/test_collective_tables.py); over nodes see tests/clusters/test_collectives_between_nodes.py. `tables`
corrects it where something was measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from costmodel.collectives.crossings import Crossing, slowest_group
from costmodel.collectives.nccl_protocols import LL, PROTOCOLS, SIMPLE, Hops, Protocol, beyond_infiniband_s
from costmodel.collectives.pairwise import SPREAD, spread_s
from costmodel.collectives.ring import rounds
from costmodel.price import Timed
from costmodel.spec import ClusterSpec, Collective

MULTI_NODE_ALL_REDUCE_HOP = 1.4
"""A hop of Simple's ring all-reduce over several nodes against another."""
NVLS_S = 25e-6
NVLS_BETWEEN_NODES_S = 18e-6
NVLS_TREE_HOP_S = 20.9e-6
NVLS_TREE_SHARE = 5 / 6
"""Of the links' bandwidth that NVLS with a tree between machines reaches."""
MAX_NVLS_TREE_DEVICES = 8
"""Of an NVLink domain that joins others by NVLS: the published run over 20 racks of 72 starts as slowly as a ring."""
NVLS_SPEED_UP = 1.27
"""All-reduce with NVLink SHARP against without, large messages: 473 to 363 GB/s on H200, 838 to 674 on B200
(stas00/ml-engineering)."""


def time(cluster: ClusterSpec, op: Collective, num_ranks: int, stride: int, size_bytes: float) -> Timed:
    """Time of a collective over a group of two or more ranks, of the slowest group; all but send_recv."""
    return slowest_group(cluster, num_ranks, stride, lambda crossed: of_group(op, crossed, num_ranks, size_bytes))


def of_group(op: Collective, crossed: Sequence[Crossing], num_ranks: int, size_bytes: float) -> float:
    """Seconds over a group whose ring crosses the tiers `crossed`."""
    if op in SPREAD:
        return LL.ring.base_s + spread_s(crossed, num_ranks, size_bytes)
    moved_bytes = size_bytes * op.bus_factor(num_ranks)
    protocols = [protocol for protocol in PROTOCOLS if protocol.serves(crossing.tier for crossing in crossed)]
    candidates = [_ring_s(protocol, op, crossed, moved_bytes) for protocol in protocols]
    if op is Collective.ALL_REDUCE:
        candidates += [_tree_s(protocol, crossed, size_bytes) for protocol in protocols]
        candidates += _nvls_s(crossed, num_ranks, size_bytes)
    return min(candidates)


def num_nodes(crossed: Sequence[Crossing]) -> float:
    """Machines, or racks of one NVLink domain, that a group lies on: the hops over the network and one."""
    return 1 + sum(crossing.num_hops for crossing in crossed if crossing.tier.link.is_network)


def _ring_s(protocol: Protocol, op: Collective, crossed: Sequence[Crossing], moved_bytes: float) -> float:
    hops_s, spans = 0.0, crossed[-1].tier.link.is_network
    slow_hops = op is Collective.ALL_REDUCE and protocol is SIMPLE and spans
    for crossing in crossed:
        hop_s = max(protocol.ring.over(crossing.tier), protocol.post_s if spans else 0.0)
        hops_s += crossing.num_hops * hop_s * (MULTI_NODE_ALL_REDUCE_HOP if slow_hops else 1.0)
    rate = min(crossing.bandwidth_bytes_per_s for crossing in crossed) * protocol.ring_share
    limit = protocol.limit_bytes_per_s(num_nodes(crossed))
    return protocol.ring.base_s + rounds(op) * hops_s + moved_bytes / min(rate, limit)


def _tree_s(protocol: Protocol, crossed: Sequence[Crossing], size_bytes: float) -> float:
    share = protocol.tree_share_between_nodes if crossed[-1].tier.link.is_network else protocol.tree_share
    rate = share * _tree_bytes_per_s(crossed) * protocol.tree_size_share(size_bytes)
    limit = protocol.limit_bytes_per_s(num_nodes(crossed)) / 2
    return protocol.tree.base_s + 2 * _depth_s(protocol.tree, crossed) + size_bytes / min(rate, limit)


def _depth_s(hops: Hops, crossed: Sequence[Crossing]) -> float:
    """Hops of a tree from its root to the farthest leaf: a chain in each machine, a binary tree between them."""
    depth_s = 0.0
    for crossing in crossed:
        network = crossing.tier.link.is_network
        num_hops = math.log2(crossing.num_hops + 1) if network else crossing.num_hops / num_nodes(crossed)
        depth_s += num_hops * hops.over(crossing.tier)
    return depth_s


def _tree_bytes_per_s(crossed: Sequence[Crossing]) -> float:
    """What links carry of a tree's data: half of each byte's two ways, or one way each between just two machines."""
    pair = num_nodes(crossed) == 2
    return min(
        crossing.bandwidth_bytes_per_s * (1.0 if crossing.tier.link.is_network and pair else 0.5)
        for crossing in crossed
    )


def _nvls_s(crossed: Sequence[Crossing], num_ranks: int, size_bytes: float) -> Iterator[float]:
    inner, *outer = crossed
    least = inner.tier.nvls_min_devices
    if least is None or inner.num_members < least:
        return
    # What the links inside carry of an all-reduce that the switch sums.
    members = inner.num_members if outer else num_ranks
    rate = NVLS_SPEED_UP * inner.bandwidth_bytes_per_s / Collective.ALL_REDUCE.bus_factor(members)
    share = SIMPLE.tree_size_share(size_bytes)
    if not outer:
        yield NVLS_S + size_bytes / (share * rate)
    elif inner.tier.num_devices <= MAX_NVLS_TREE_DEVICES:
        rate = min(rate, NVLS_TREE_SHARE * _tree_bytes_per_s(outer))
        hops_s = 0.0
        for crossing in outer:
            # NCCL's constant is of both ways; what a fabric takes beyond it counts on each.
            hop_s = NVLS_TREE_HOP_S + 2 * beyond_infiniband_s(crossing.tier)
            hops_s += math.log2(crossing.num_hops + 1) * hop_s
        yield NVLS_S + NVLS_BETWEEN_NODES_S + hops_s + size_bytes / (share * rate)
