"""Constants of NCCL's own cost model (src/graph/tuning.cc of NVIDIA/nccl at 5067397, 2026-06-11), by protocol.

A protocol trades latency for bandwidth: LL sends a flag with every word, LL128 with every line, Simple synchronises
once per slice.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from costmodel.spec import LinkKind, Tier

NETWORK_HOP_S = 14e-6
"""A hop of Simple over InfiniBand, which a network tier states where it is as fast as NCCL assumes."""
NVLINK_HOP_S = 3.4e-6
"""A hop of Simple's ring over NVLink."""
PCIE_HOP_S = 5.7e-6
"""The same over PCIe."""
READ_BY_ADAPTERS = (LinkKind.INFINIBAND, LinkKind.ROCE, LinkKind.EFA)
"""Networks whose adapters read the memory of GPUs."""


def beyond_infiniband_s(tier: Tier) -> float:
    """What a hop takes beyond NCCL's own work; a wide-area link takes all of its latency beyond it."""
    return tier.latency_s if tier.link is LinkKind.WAN else max(0.0, tier.latency_s - NETWORK_HOP_S)


@dataclass(frozen=True)
class Hops:
    """Latencies of one algorithm in one protocol, in seconds: before the first hop, and of a hop over each link."""

    base_s: float
    nvlink_s: float
    pcie_s: float
    network_s: float

    def over(self, tier: Tier) -> float:
        """Seconds of a hop over a link of `tier`.

        Inside a machine the tier's own latency counts against NCCL's. Over the network NCCL's constants are its own
        work, and what a fabric takes beyond InfiniBand comes on top, whatever the protocol.
        """
        if tier.link.is_network:
            return self.network_s + beyond_infiniband_s(tier)
        if tier.link is LinkKind.PCIE or not tier.link.is_direct:
            return self.pcie_s * tier.latency_s / PCIE_HOP_S
        return self.nvlink_s * tier.latency_s / NVLINK_HOP_S


@dataclass(frozen=True)
class Protocol:
    """What one of NCCL's protocols makes of links."""

    ring: Hops
    tree: Hops
    post_s: float
    """Least time of a ring's hop inside a machine where several take part: handing a slice to the adapter."""
    ring_share: float
    """Of a link's bandwidth that a ring reaches."""
    tree_share: float
    """Of a link's bandwidth that a tree reaches, before `tree_size_shares`."""
    tree_share_between_nodes: float
    """The same over several machines."""
    needs_direct: bool
    """Whether it is off where data passes PCIe inside a machine, or the host on its way to an adapter."""
    max_bytes_per_s: Mapping[int, float]
    """Largest bandwidth of all channels of a machine, from so many machines on."""
    tree_size_shares: tuple[float, ...]
    """Share of a tree's bandwidth for 64 B, 128 B, ... 512 MiB."""

    def serves(self, tiers: Iterable[Tier]) -> bool:
        """Whether it is on over links of `tiers`."""
        return not self.needs_direct or all(tier.link.is_direct or tier.link in READ_BY_ADAPTERS for tier in tiers)

    def limit_bytes_per_s(self, num_nodes: float) -> float:
        """Largest bandwidth of a machine's channels where `num_nodes` take part."""
        return min((rate for least, rate in self.max_bytes_per_s.items() if least <= num_nodes), default=math.inf)

    def tree_size_share(self, size_bytes: float) -> float:
        """Share of a tree's bandwidth at a size, interpolated, so that more bytes never take less time."""
        place = min(max(math.log2(size_bytes / 64), 0.0), len(self.tree_size_shares) - 1.0)
        below = int(place)
        above = min(below + 1, len(self.tree_size_shares) - 1)
        return self.tree_size_shares[below] + (place - below) * (
            self.tree_size_shares[above] - self.tree_size_shares[below]
        )


LL = Protocol(
    ring=Hops(6.6e-6, 0.6e-6, 1e-6, 2.7e-6),
    tree=Hops(6.8e-6, 0.6e-6, 1e-6, 5e-6),
    post_s=1e-6,
    # Half a link's at most, and less by NCCL's table of largest rates inside a machine: 0.33 to 0.39 of NVLink.
    ring_share=0.38,
    tree_share=0.92 / 3.8,
    tree_share_between_nodes=0.92 / 3.8,
    needs_direct=False,
    # Between machines by the vendor of the CPU, whose mean it is: 39 and 22.5 GB/s over two, 20.4 and 19 over more.
    max_bytes_per_s={2: 30.75e9, 3: 19.7e9},
    tree_size_shares=(
        *(1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5),
        *(0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.0, 1.0, 1.0, 1.0),
    ),
)
LL128 = Protocol(
    ring=Hops(14e-6, 1.9e-6, 2.5e-6, 4e-6),
    tree=Hops(14e-6, 1.25e-6, 1.9e-6, 8.5e-6),
    post_s=1e-6,
    ring_share=0.92,
    tree_share=0.92 * 7 / 9,
    tree_share_between_nodes=0.92 * 120 / 128,
    needs_direct=True,
    max_bytes_per_s={},
    tree_size_shares=(
        *(1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6),
        *(0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9, 0.9, 1.0, 1.0, 1.0),
    ),
)
SIMPLE = Protocol(
    ring=Hops(8.4e-6, NVLINK_HOP_S, PCIE_HOP_S, NETWORK_HOP_S),
    tree=Hops(8.4e-6, 4e-6, 4e-6, NETWORK_HOP_S),
    post_s=3e-6,
    ring_share=1.0,
    tree_share=0.92,
    tree_share_between_nodes=0.92,
    needs_direct=False,
    max_bytes_per_s={},
    tree_size_shares=(
        *(0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5),
        *(0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7, 0.8, 0.9, 0.9, 0.9),
    ),
)
PROTOCOLS = (LL, LL128, SIMPLE)
