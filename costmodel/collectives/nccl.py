"""Collectives between GPUs by NCCL's own cost model: the fastest of its algorithms and protocols (src/graph/tuning.cc).

    ring    base + rounds x sum over hops of their latency + moved bytes / (bandwidth x share)
    tree    base + 2 x (sum of hops inside + log2(nodes) x hop between) + 2 x bytes / (bandwidth x share)    all-reduce
    spread  base + what a rank sends beyond each tier over its own link there            all-to-all, gather, scatter
    NVLS    25 us (18 more over nodes) + all-reduce's bytes / (bandwidth x speed-up)                          all-reduce

A protocol trades latency for bandwidth: LL sends a flag with every word, LL128 with every line, Simple synchronises
once per slice. Constants are those of NVIDIA/nccl at 5067397 (2026-06-11). Against the published series of A100, H100,
H200 and B200 inside a node, from 16 KiB on, a time is off by 20 % in the median and by 52 % at the 90th percentile
(tests/clusters/test_collective_tables.py); `tables` corrects it where something was measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from costmodel.collectives.crossings import Crossing, slowest_group
from costmodel.collectives.pairwise import SPREAD, spread_s
from costmodel.collectives.ring import rounds
from costmodel.price import Timed
from costmodel.spec import ClusterSpec, Collective


@dataclass(frozen=True)
class Protocol:
    """One of NCCL's protocols: its base latency, and what it makes of a link's hop and bandwidth."""

    ring_base_s: float
    tree_base_s: float
    hop_share: dict[str, float]
    """Latency of a hop against that of Simple, which a tier states: over NVLink, PCIe and the network."""
    ring_share: float
    """Of the bandwidth that a ring reaches."""
    tree_share: float


LL = Protocol(6.6e-6, 6.8e-6, {"nvlink": 0.6 / 3.4, "pcie": 1 / 5.7, "network": 2.7 / 14}, 0.38, 0.92 / 3.8)
LL128 = Protocol(14e-6, 14e-6, {"nvlink": 1.9 / 3.4, "pcie": 2.5 / 5.7, "network": 4 / 14}, 0.92, 0.92 * 0.78)
SIMPLE = Protocol(8.4e-6, 8.4e-6, {"nvlink": 1.0, "pcie": 1.0, "network": 1.0}, 1.0, 0.92)
PROTOCOLS = (LL, LL128, SIMPLE)
"""LL reaches half a link's bandwidth at most, and less by NCCL's table of largest rates: 0.33 to 0.39 of NVLink."""

MULTI_NODE_ALL_REDUCE_HOP = 1.4
"""A hop of Simple's ring all-reduce over several nodes against another."""
NVLS_S = 25e-6
NVLS_BETWEEN_NODES_S = 18e-6
NVLS_SPEED_UP = 1.27
"""All-reduce with NVLink SHARP against without, large messages: 473 to 363 GB/s on H200, 838 to 674 on B200
(stas00/ml-engineering)."""


def time(cluster: ClusterSpec, op: Collective, num_ranks: int, stride: int, size_bytes: float) -> Timed:
    """Time of a collective over a group of two or more ranks, of the slowest group; all but send_recv."""
    return slowest_group(cluster, num_ranks, stride, lambda crossed: of_group(op, crossed, num_ranks, size_bytes))


def of_group(op: Collective, crossed: Sequence[Crossing], num_ranks: int, size_bytes: float) -> float:
    """Seconds over a group whose ring crosses the tiers `crossed`."""
    if op in SPREAD:
        return LL.ring_base_s + spread_s(crossed, num_ranks, size_bytes)
    moved_bytes = size_bytes * op.bus_factor(num_ranks)
    rate = min(crossing.bandwidth_bytes_per_s for crossing in crossed)
    candidates = [_ring_s(protocol, op, crossed, moved_bytes / rate) for protocol in PROTOCOLS]
    if op is Collective.ALL_REDUCE:
        candidates += [_tree_s(protocol, crossed, 2 * size_bytes / rate) for protocol in PROTOCOLS]
        candidates += _nvls_s(crossed, moved_bytes / rate)
    return min(candidates)


def _ring_s(protocol: Protocol, op: Collective, crossed: Sequence[Crossing], moved_s: float) -> float:
    hops_s = 0.0
    slow_hops = op is Collective.ALL_REDUCE and protocol is SIMPLE and crossed[-1].tier.link.is_network
    for crossing in crossed:
        hops_s += crossing.num_hops * _hop_s(protocol, crossing) * (MULTI_NODE_ALL_REDUCE_HOP if slow_hops else 1.0)
    return protocol.ring_base_s + rounds(op) * hops_s + moved_s / protocol.ring_share


def _tree_s(protocol: Protocol, crossed: Sequence[Crossing], moved_s: float) -> float:
    hops_s = 0.0
    for crossing in crossed:
        network = crossing.tier.link.is_network
        hops = math.log2(crossing.num_hops + 1) if network else crossing.num_hops / num_nodes(crossed)
        hops_s += hops * _hop_s(protocol, crossing)
    return protocol.tree_base_s + 2 * hops_s + moved_s / protocol.tree_share


def num_nodes(crossed: Sequence[Crossing]) -> float:
    """Machines, or racks of one NVLink domain, that a group lies on: the hops over the network and one."""
    return 1 + sum(crossing.num_hops for crossing in crossed if crossing.tier.link.is_network)


def _nvls_s(crossed: Sequence[Crossing], moved_s: float) -> Iterator[float]:
    inner = crossed[0].tier
    if inner.nvls_min_devices is None or crossed[0].num_members < inner.nvls_min_devices:
        return
    if len(crossed) == 1:
        yield NVLS_S + moved_s / NVLS_SPEED_UP
    else:
        # The network bounds large messages; what the switch saves is the ring's latency inside the nodes.
        yield NVLS_S + NVLS_BETWEEN_NODES_S + math.log2(num_nodes(crossed)) * crossed[-1].tier.latency_s + moved_s


def _hop_s(protocol: Protocol, crossing: Crossing) -> float:
    tier = crossing.tier
    if tier.link.is_network:
        return tier.latency_s * protocol.hop_share["network"]
    return tier.latency_s * protocol.hop_share["nvlink" if tier.link.is_direct else "pcie"]
