"""What a cluster file says of how its machines are joined must agree: no key beside another that overrules it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import groupby
from typing import Any

from costmodel.errors import BadInputError
from costmodel.spec.shown import shown
from costmodel.units import counted
from planner.clusters.links import BETWEEN_MACHINES
from planner.clusters.nodes import Machines


def check_joins(data: Mapping[str, Any], machines: Machines, where: str) -> tuple[str, ...]:
    """Sentences on keys of a file that price nothing; raises BadInputError where keys contradict each other."""
    if data.get("tiers") is not None:
        return _beside_tiers(data, machines, where)
    sites = [site for site, _ in groupby(machines.groups, lambda group: group.node.site)]
    twice = next((site for site, count in Counter(sites).items() if count > 1), None)
    if twice is not None:
        raise BadInputError(
            f"{where}: machines of site {shown(twice)} stand before and after those of another, but ranks fill "
            "machines in their order; list the machines of a site together"
        )
    if data.get("wan") is not None and len(sites) == 1:
        raise BadInputError(
            f"{where}: wan joins sites, but all machines stand at one; give each entry of nodes its site, or leave wan "
            "out"
        )
    said = []
    if data.get("network") is not None:
        at_site = Counter[str]()
        for group in machines.groups:
            at_site[group.node.site] += group.num_nodes
        if not machines.is_open and max(at_site.values()) == 1:
            where_alone = "There is one machine" if len(sites) == 1 else "There is one machine at each site"
            said.append(f"{where_alone}, so network prices nothing.")
        elif any(group.node.nics is not None for group in machines.groups):
            said.append("Links between machines are priced as network states them; nics price none.")
    return tuple(said)


def left_out(machines: Machines, num_devices: int) -> tuple[str, ...]:
    """A sentence on machines that the first `num_devices` devices leave idle, where they differ."""
    if len(machines.groups) == 1:
        return ()
    idle, left = [], num_devices
    for group in machines.groups:
        count = group.num_nodes - min(group.num_nodes, -(-max(left, 0) // group.node.num_devices))
        left -= group.num_devices
        if count:
            idle.append(f"{counted(count, 'machine')} of {group.node.num_devices} x {group.node.device.name}")
    if not idle:
        return ()
    return (f"Not used: {', '.join(idle)}, since ranks fill the machines in the order of the file.",)


def _beside_tiers(data: Mapping[str, Any], machines: Machines, where: str) -> tuple[str, ...]:
    for key in BETWEEN_MACHINES:
        if data.get(key) is not None:
            raise BadInputError(
                f"{where}: {key} stands beside tiers, which say how machines are joined; write it as the outermost of "
                "tiers, or leave tiers out"
            )
    nodes = [group.node for group in machines.groups]
    unused = [
        what
        for what, is_stated in (
            ("the topology", any(node.topology is not None for node in nodes)),
            ("peer_access", any(node.peer_access is not None for node in nodes)),
        )
        if is_stated
    ]
    return tuple(f"Links are priced as tiers state them; {what} prices none." for what in unused)
