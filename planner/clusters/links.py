"""The tiers of a cluster file: as it states them, or derived from its topology, adapters and presets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from costmodel.collectives.nccl_protocols import NETWORK_HOP_S
from costmodel.errors import BadInputError
from costmodel.spec import LinkKind, Nics, Node, NodeGroup, Source, Tier
from costmodel.spec.link import ADAPTER_LINKS
from costmodel.spec.shown import shown
from costmodel.units import counted, format_rate
from planner.clusters.fitting import first_units, fitted, resized
from planner.clusters.node_links import levels_of_topology, with_peer_access
from planner.clusters.nodes import Machines
from planner.clusters.presets import preset_of_device, shares_adapters, usual_size
from planner.clusters.published_links import joins_as_published, tiers_of_preset
from planner.clusters.stated_tiers import stated_tier

NIC_EFFICIENCY_FRAC = 0.8
"""Share of the line rate that collectives between nodes reach: median of fits on published training runs."""

HOP_S = {
    LinkKind.INFINIBAND: NETWORK_HOP_S,
    LinkKind.ROCE: NETWORK_HOP_S,
    LinkKind.EFA: 37e-6,
    LinkKind.ETHERNET: 50e-6,
}
"""A ring step over the network in NCCL's protocol for large messages, where the adapters state none."""
HOP_SOURCES = {
    LinkKind.INFINIBAND: "NCCL tuning.cc, ring, Simple",
    LinkKind.ROCE: "NCCL tuning.cc, ring, Simple",
    # 69 us of the smallest all-reduce are a tree of LL: 6.8 + 2 (3.0 inside + 5 + 23 between).
    LinkKind.EFA: "NCCL tuning.cc and 23 us more, as the smallest all-reduce over two p5.48xlarge takes",
    LinkKind.ETHERNET: "sockets, assumed",
}

BETWEEN_MACHINES = {"network": ADAPTER_LINKS, "wan": (*ADAPTER_LINKS, LinkKind.WAN)}
"""Keys that state what joins machines and sites, and the links that each may be."""


@dataclass(frozen=True)
class Links:
    """Tiers from the innermost to the outermost, and what was assumed to derive them."""

    tiers: tuple[Tier, ...]
    assumptions: tuple[str, ...] = ()
    without_source: frozenset[str] = frozenset()
    """Names of those that a file states without saying what its figures rest on."""


def derived_tiers(data: Mapping[str, Any], machines: Machines, num_devices: int, where: str) -> Links:
    """The tiers of machines whose file states none.

    Inside a machine they come from its topology, else from the preset of its device. Between machines they come from
    the key `network`, else from the adapters, else from the preset; between sites from the key `wan`.
    """
    read = {name: _stated(data[name], name, where) for name in BETWEEN_MACHINES if data.get(name) is not None}
    stated = {name: tier for name, (tier, _) in read.items()}
    without_source = frozenset(tier.name for tier, has_source in read.values() if not has_source)
    if num_devices == 1:
        return Links(())
    groups = machines.groups
    sentences: list[str] = []
    inner = _inner(machines, where, sentences)
    tiers = [*fitted(inner, groups, num_devices)]
    if not tiers or tiers[-1].num_devices < num_devices:
        sites = [
            (site, sum(group.num_devices for group in row)) for site, row in groupby(groups, lambda g: g.node.site)
        ]
        network = stated.get("network") or _network(groups, where)
        if len(sites) > 1:
            units = tuple(size for _, size in sites)
            cut = {"unit_sizes": units} if len(set(units)) > 1 else {}
            tiers.append(network.model_copy(update={"num_devices": max(units), **cut}))
            if "wan" not in stated:
                raise BadInputError(
                    f"{where}: wan is missing: machines stand at different sites; state the bandwidth_bytes_per_s of "
                    "a site, which its GPUs share, and its latency_s"
                )
            tiers.append(_shared_by_sites(stated["wan"], max(units), num_devices))
        else:
            tiers.append(network.model_copy(update={"num_devices": num_devices}))
    return Links(fitted(tiers, groups, num_devices), tuple(sentences), without_source)


def _shared_by_sites(wan: Tier, largest: int, num_devices: int) -> Tier:
    """The pipe of a site as what each device has of it; the site of most devices, `largest`, leaves each the least."""
    note = f"{format_rate(wan.bandwidth_bytes_per_s)} of a site, shared by the {counted(largest, 'GPU')} of the largest"
    return wan.model_copy(
        update={
            "num_devices": num_devices,
            "bandwidth_bytes_per_s": wan.bandwidth_bytes_per_s / largest,
            "note": f"{wan.note}; {note}" if wan.note else note,
        }
    )


def _inner(machines: Machines, where: str, sentences: list[str]) -> list[Tier]:
    """Tiers inside the machines; where these differ, every level is as slow as the slowest machine's."""
    per_machine: list[tuple[Tier, ...]] = []
    for node in machines.whole:
        if node.topology is not None and not joins_as_published(node):
            levels = levels_of_topology(node.topology, node.device, where, peer_access=node.peer_access)
            sentences += [sentence for sentence in levels.assumptions if sentence not in sentences]
            per_machine.append(levels.tiers)
        elif node.num_devices > 1:
            # A smaller machine is taken for a part of the largest: its devices reach one another as those do.
            alike = [other for other in machines.whole if other.device == node.device]
            largest = max(alike, key=lambda other: other.num_devices)
            tiers = tiers_of_preset(largest, where)[0]
            per_machine.append(tuple(_with_stated_access(tier, node, where) for tier in tiers))
        else:
            per_machine.append(())
    kinds = [tiers for tiers in per_machine if tiers]
    over_pcie = any(tier.link is LinkKind.PCIE for tiers in kinds for tier in tiers)
    if not over_pcie and any(node.peer_access is not None for node in machines.whole):
        sentences.append("No GPUs of a machine exchange over PCIe, so peer_access prices nothing.")
    if not kinds:
        return []
    if len({tuple((tier.link, tier.bandwidth_bytes_per_s, tier.latency_s) for tier in tiers) for tiers in kinds}) == 1:
        return [
            _laid_out([tiers[level] if tiers else None for tiers in per_machine], machines)
            for level in range(len(kinds[0]))
        ]
    slowest = slowest_of([tiers[-1] for tiers in kinds])
    sentences.append(
        f"Machines differ inside; groups within one are priced at the slowest of their links ({slowest.link.value})."
    )
    size = max(group.node.num_devices for group in machines.groups)
    return [slowest.model_copy(update={"name": "node", "num_devices": size, "unit_sizes": (), "is_mesh": False})]


def slowest_of(tiers: Sequence[Tier]) -> Tier:
    """What groups meet that lie on links of all of `tiers`: the least bandwidth, the longest hop, the least able link.

    Over sockets no adapter reads the memory of GPUs, and over PCIe there are no links of their own.
    """
    slowest = min(tiers, key=lambda tier: tier.bandwidth_bytes_per_s)
    worst = next((tier.link for tier in tiers if tier.link in (LinkKind.ETHERNET, LinkKind.PCIE)), slowest.link)
    return slowest.model_copy(
        update={
            "link": worst,
            "latency_s": max(tier.latency_s for tier in tiers),
            "source": Source.worst(*(tier.source for tier in tiers)),
        }
    )


def _with_stated_access(tier: Tier, node: Node, where: str) -> Tier:
    if node.peer_access is None or tier.link is not LinkKind.PCIE:
        return tier
    return with_peer_access(tier, node.device, node.peer_access, where)


def _laid_out(tiers: Sequence[Tier | None], machines: Machines) -> Tier:
    """One level of all machines, of which each group has its tier, or None where it is a single device."""
    widest = max((tier for tier in tiers if tier is not None), key=lambda tier: tier.num_devices)
    if widest.num_devices > max(node.num_devices for node in machines.whole):
        units = _of_whole_machines(machines.groups, widest.num_devices)
    else:
        units = [
            size
            for tier, group, node in zip(tiers, machines.groups, machines.whole, strict=True)
            for size in first_units(tier.sizes(node.num_devices) if tier else (1,), group.node.num_devices)
            * group.num_nodes
        ]
    tier = resized(widest, max(units), unit_sizes=())
    return tier if tier.sizes(sum(units)) == tuple(units) else tier.model_copy(update={"unit_sizes": tuple(units)})


def _of_whole_machines(groups: Sequence[NodeGroup], most: int) -> list[int]:
    """Devices of units that hold as many whole machines of one site as fit."""
    units: list[int] = []
    for _, row in groupby(groups, lambda group: group.node.site):
        units.append(0)
        for size in (group.node.num_devices for group in row for _ in range(group.num_nodes)):
            if units[-1] and units[-1] + size > most:
                units.append(0)
            units[-1] += size
    return units


def _network(groups: Sequence[NodeGroup], where: str) -> Tier:
    """The link between machines by the adapters that each kind states, else by the preset of its device.

    The slowest counts.
    """
    tiers = [
        _of_nics(group.node, group.node.nics) if group.node.nics else _of_usual_nics(group.node, where)
        for group in groups
    ]
    return slowest_of(tiers)


def _of_nics(node: Node, nics: Nics) -> Tier:
    """The share of each device in the adapters of its machine."""
    hop_s, hop_source = HOP_S[nics.link], HOP_SOURCES[nics.link]
    if nics.latency_s is not None:
        hop_s, hop_source = nics.latency_s, "its adapters"
    rate = NIC_EFFICIENCY_FRAC * nics.count * nics.bandwidth_bytes_per_s / node.num_devices
    slot = node.device.pcie_bytes_per_s
    bound = "" if slot is None or rate <= slot else ", as much as the slot of a device takes"
    return Tier(
        name="network",
        num_devices=1,
        link=nics.link,
        bandwidth_bytes_per_s=rate if slot is None else min(rate, slot),
        latency_s=hop_s,
        source=Source.ANALYTIC,
        note=f"its adapters at {NIC_EFFICIENCY_FRAC} of line rate (fits on published runs), shared by its "
        f"devices{bound}; hop of {hop_source}",
    )


def _of_usual_nics(node: Node, where: str) -> Tier:
    """The link between machines of the preset of its device; adapters of a machine are shared by as many as it has."""
    name = preset_of_device(node.device.name)
    tier = None if name is None else tiers_of_preset(node, where)[1]
    if name is None or tier is None:
        raise BadInputError(
            f"{where}: network is missing: nothing says how machines of {node.device.name} are joined; state "
            "network or nics"
        )
    size = usual_size(name)
    if node.num_devices == size or not shares_adapters(tier):
        return tier
    share = size / node.num_devices
    return tier.model_copy(
        update={
            "bandwidth_bytes_per_s": share * tier.bandwidth_bytes_per_s,
            "note": f"{tier.note}; here shared by {node.num_devices}",
        }
    )


def _stated(given: Any, name: str, where: str) -> tuple[Tier, bool]:
    """The tier under the key `name`, between machines or sites, and whether it states its source."""
    if not isinstance(given, dict):
        raise BadInputError(
            f"{where}: {name} is {shown(given)}, but must hold link, bandwidth_bytes_per_s (per GPU of "
            "network, of a site of wan) and latency_s"
        )
    links = BETWEEN_MACHINES[name]
    default = {"link": LinkKind.WAN} if LinkKind.WAN in links else {}
    tier, has_source = stated_tier({"name": name, "num_devices": 1, **default, **given}, f"{where}: {name}")
    if tier.link not in links:
        raise BadInputError(
            f"{where}: {name}.link is {tier.link.value!r}, but must be one of {', '.join(links)}; what joins machines "
            "without adapters is one of tiers"
        )
    return tier, has_source
