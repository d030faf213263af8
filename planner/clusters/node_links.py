"""The tiers inside a machine, derived from what its driver's tool says of every pair of GPUs.

Devices that are joined at one level form its units: NVLink or xGMI islands, PCIe switches, sockets, the machine. A
level is a tier where its units are rows of consecutive GPUs, as ranks are numbered; else it is left out and named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from costmodel.collectives.nccl_protocols import NVLINK_HOP_S, PCIE_HOP_S
from costmodel.errors import BadInputError
from costmodel.spec import Device, LinkKind, NodeTopology, Pair, PathKind, Source, Tier

MAX_LINKS_OF_GPU = 18
"""NVLinks of one GPU, up to Blackwell: more in sum over its peers means that they are the same ones behind a switch."""
MAX_LINKS_OF_PAIR = 6
"""NVLinks that lead from a GPU to one of several peers without a switch: the 18 of H100 on a board of four, shared by
three peers. A switch offers all of them to each peer: 8 on A800 and H800, 12 on A100, 18 on H100, but 6 on V100."""

PCIE_SHARE_FRAC = {
    PathKind.PIX: 0.77,
    PathKind.PXB: 0.77,
    PathKind.PCIE: 0.77,
    PathKind.PHB: 0.6,
    PathKind.NODE: 0.6,
    PathKind.SYS: 0.5,
}
"""Share of the slot's rate that a collective gets: 24 of 31 GB/s behind a switch (NVIDIA's best case for PCIe 4, quoted
by stas00/ml-engineering); through the host and across sockets it is assumed to be less."""

LEVELS = (
    ("island", (PathKind.NVLINK, PathKind.XGMI)),
    ("switch", (PathKind.PIX, PathKind.PXB, PathKind.PCIE)),
    ("socket", (PathKind.PHB, PathKind.NODE)),
    ("node", (PathKind.SYS,)),
)
"""Names of the levels and what joins devices at each, the nearest first."""


@dataclass(frozen=True)
class Levels:
    """Tiers of one machine."""

    tiers: tuple[Tier, ...]
    assumptions: tuple[str, ...]


def levels_of_topology(
    topology: NodeTopology, device: Device, where: str, *, peer_access: bool | None = None
) -> Levels:
    """The tiers of a machine of such GPUs, which have peer access over PCIe or not where somebody said so.

    Raises BadInputError where a pair of GPUs is missing, or where the rate of a link is needed that nobody stated.
    """
    gpus = topology.gpus
    pairs = [pair for pair in topology.pairs if set(pair.pair) <= set(gpus)]
    known = {frozenset(pair.pair) for pair in pairs}
    missing = next((pair for pair in combinations(gpus, 2) if frozenset(pair) not in known), None)
    if missing is not None:
        raise BadInputError(
            f"{where}: its topology does not say what joins {' and '.join(missing)}; give a whole output, or tiers"
        )
    if len(gpus) == 1:
        return Levels((), ())
    # Imported only here: it takes longer than reading a cluster without a topology.
    from planner.clusters.graph import joined, topology_graph

    graph = topology_graph(topology)
    tiers: list[Tier] = []
    sentences: list[str] = []
    near: set[PathKind] = set()
    for name, kinds in LEVELS:
        new = [pair for pair in pairs if pair.kind in kinds]
        near.update(kinds)
        units = [[gpus[place] for place in unit] for unit in joined(graph, lambda edge: edge["pair"].kind in near)]
        if not new or (tiers and len(units) == len(tiers[-1].sizes(len(gpus)))):
            continue
        if not _are_rows(units, gpus):
            order = ",".join(gpu.removeprefix("GPU") for unit in units for gpu in unit)
            sentences.append(
                f"GPUs of one {name} are not numbered in a row, so it is left out; with CUDA_VISIBLE_DEVICES={order} "
                "they would be."
            )
            continue
        sizes = tuple(len(unit) for unit in units)
        tiers.append(_tier(name if len(units) > 1 else "node", sizes, new, device, where, peer_access))
        is_doubtful = device.num_peer_links is None and min(pair.num_links for pair in new) == MAX_LINKS_OF_PAIR
        if tiers[-1].is_mesh and is_doubtful:
            sentences.append(
                f"GPUs with NV{MAX_LINKS_OF_PAIR} to several peers are taken to be joined without a switch, as four "
                "H100 of one board are; where a switch joins them, as in a DGX-2, state tiers."
            )
        if len(units) == 1:
            break
    if not tiers or max(tiers[-1].sizes(len(gpus))) < len(gpus):
        raise BadInputError(f"{where}: its topology leaves GPUs that nothing joins; give the whole output")
    return Levels(tuple(tiers), tuple(sentences))


def _are_rows(units: Sequence[Sequence[str]], gpus: Sequence[str]) -> bool:
    return [gpu for unit in units for gpu in unit] == list(gpus)


def with_peer_access(tier: Tier, device: Device, peer_access: bool, where: str) -> Tier:
    """`tier`, which joins devices over PCIe, at the rate with or without peer access."""
    share_frac = PCIE_SHARE_FRAC[PathKind.PIX if peer_access else PathKind.SYS]
    why = "peer_access is true" if peer_access else "peer_access is false, data passes host memory"
    changes = {
        "bandwidth_bytes_per_s": share_frac * _slot_bytes_per_s(device, where),
        "latency_s": PCIE_HOP_S,
        "source": Source.ASSUMED,
        "note": f"{why}: {share_frac} of the slot's rate; hop of NCCL tuning.cc, ring, Simple",
    }
    return tier.model_copy(update=changes)


def _slot_bytes_per_s(device: Device, where: str) -> float:
    if device.pcie_bytes_per_s is None:
        raise BadInputError(f"{where}: pcie_bytes_per_s of {device.name} is not known; give it with the device")
    return device.pcie_bytes_per_s


def _tier(
    name: str,
    sizes: tuple[int, ...],
    pairs: Sequence[Pair],
    device: Device,
    where: str,
    peer_access: bool | None,
) -> Tier:
    unequal = {"unit_sizes": sizes} if len(set(sizes)) > 1 else {}
    if pairs[0].kind.is_direct:
        per_link = device.peer_link_bytes_per_s
        if per_link is None:
            raise BadInputError(
                f"{where}: peer_link_bytes_per_s of {device.name} is not known: the rate of one of its "
                f"{pairs[0].kind.value} links; give it with the device"
            )
        num_links, is_mesh = _links_of_gpu(pairs, device, where)
        return Tier(
            name=name,
            num_devices=max(sizes),
            **unequal,
            link=LinkKind.NVLINK if pairs[0].kind is PathKind.NVLINK else LinkKind.XGMI,
            is_mesh=is_mesh,
            bandwidth_bytes_per_s=num_links * per_link,
            latency_s=NVLINK_HOP_S,
            source=Source.ANALYTIC,
            note=f"{num_links} links a GPU by its topology; hop of NCCL tuning.cc, ring, Simple",
        )
    slowest = max((pair.kind for pair in pairs), key=list(PathKind).index)
    share_frac = PCIE_SHARE_FRAC[slowest]
    tier = Tier(
        name=name,
        num_devices=max(sizes),
        **unequal,
        link=LinkKind.PCIE,
        bandwidth_bytes_per_s=share_frac * _slot_bytes_per_s(device, where),
        latency_s=PCIE_HOP_S,
        source=Source.ASSUMED,
        note=f"{slowest.value} by its topology: {share_frac} of the slot's rate; hop of NCCL tuning.cc, ring, Simple",
    )
    if peer_access is None or slowest is PathKind.SYS:
        return tier
    return with_peer_access(tier, device, peer_access, where)


def _links_of_gpu(pairs: Sequence[Pair], device: Device, where: str) -> tuple[int, bool]:
    """Links that the least connected GPU has to its peers in all, and whether each leads to one of several peers.

    More links in all than a GPU has are those to a switch, seen from every peer. Raises BadInputError for a pair with
    more links than the device has.
    """
    links: dict[str, list[int]] = {}
    for pair in pairs:
        for gpu in pair.pair:
            links.setdefault(gpu, []).append(pair.num_links)
    fewest, most = min(pair.num_links for pair in pairs), max(pair.num_links for pair in pairs)
    has_several_peers = max(map(len, links.values())) > 1
    in_all = max(map(sum, links.values()))
    if device.num_peer_links is not None:
        if most > device.num_peer_links:
            raise BadInputError(
                f"{where}: its topology shows {most} links between two GPUs, but {device.name} has "
                f"{device.num_peer_links}; give the device that it was printed on"
            )
        if in_all > device.num_peer_links:
            return fewest, False
    elif has_several_peers and (fewest > MAX_LINKS_OF_PAIR or in_all > MAX_LINKS_OF_GPU):
        return fewest, False
    return min(map(sum, links.values())), has_several_peers
