"""Whether a table of measured collectives speaks of a cluster at all: of its GPUs, and of machines as large as its."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Self

from costmodel.spec import CollectiveTable
from costmodel.spec.link import joined_without_network
from costmodel.units import counted
from planner.clusters.nodes import Machines
from planner.clusters.presets import preset_of_device
from planner.clusters.published_links import rack_size
from planner.clusters.stated_tiers import StatedTiers

_MAKERS = {"nvidia", "amd", "tesla", "geforce", "instinct"}
_MEMORY = re.compile(r"\d+gb?")


@dataclass(frozen=True)
class Room:
    """What a table has to fit."""

    devices: tuple[str, ...]
    """Names of the GPUs."""
    per_node: int
    """Devices of the largest machine."""
    is_of_one_kind: bool
    """Whether all machines have the same GPUs on the same links."""
    per_unit: int
    """Devices that reach one another without a network: of a machine, or of a rack of one NVLink domain."""

    @classmethod
    def of(cls, machines: Machines, stated: StatedTiers | None) -> Self:
        """That of whole machines, which `stated` tiers join where there are some, and else the links of presets."""
        nodes = [group.node for group in machines.groups]
        devices = tuple(dict.fromkeys(node.device.name for node in nodes))
        per_node = max(node.num_devices for node in nodes)
        sizes = [rack_size(device) for device in devices] if stated is None else [joined_without_network(stated.inside)]
        first = nodes[0]
        is_of_one_kind = all(
            (node.device, node.topology, node.peer_access) == (first.device, first.topology, first.peer_access)
            for node in nodes
        )
        return cls(devices, per_node, is_of_one_kind, max([per_node, *sizes]))

    def placed(self, table: CollectiveTable) -> CollectiveTable:
        """`table` with the units that its ranks lie in: hosts of a rack that its output lists are one."""
        num_ranks, num_nodes = table.num_ranks, table.num_nodes
        if num_ranks is None or (num_nodes is not None and num_nodes * self.per_node < num_ranks):
            return table
        if num_nodes is not None and self.per_unit == self.per_node:
            return table
        return table.model_copy(update={"num_nodes": -(-num_ranks // self.per_unit)})

    def misfit(self, table: CollectiveTable) -> str:
        """Why a `table` that is placed prices nothing here, and what would do; empty where it prices something."""
        if table.num_ranks is None:
            return (
                "the number of ranks is not known; keep the list of ranks in the output, or give a CSV with num_ranks"
            )
        if table.num_ranks == 1:
            return "one rank has nothing to exchange; measure two or more"
        if not table.times:
            return "none has a size and a bandwidth above 0 without a wrong element; measure larger sizes"
        others = [name for name in table.devices if are_other_gpus(name, self.devices)]
        if others:
            return f"it lists {', '.join(others)}, but the cluster has {', '.join(self.devices)}; measure on these"
        if not self.is_of_one_kind:
            return "machines of this cluster differ, and it is one time for all; plan for each kind alone"
        num_units = table.num_nodes or 1
        most = num_units * self.per_unit
        if table.num_ranks > most or (num_units > 1 and table.num_ranks < most):
            return (
                f"it has {counted(table.num_ranks, 'rank')} on {counted(num_units, 'machine')}, but those of this "
                f"cluster hold {self.per_unit} each, all of which must take part; state the machines it was measured on"
            )
        return ""


def are_other_gpus(listed: str, devices: Collection[str]) -> bool:
    """Whether the GPUs that a driver calls `listed` are none of `devices`, whatever memory they have.

    A name of one's own says nothing, and a shortened one may stand for each that it begins.
    """
    if any(preset_of_device(device) is None for device in devices):
        return False
    found = _words(listed)
    is_known = preset_of_device(listed) is not None
    names = [_words(device) for device in devices]
    return not any(found == name or (not is_known and (found <= name or name <= found)) for name in names)


def _words(name: str) -> frozenset[str]:
    """What tells GPUs apart: of `NVIDIA A100-SXM4-80GB` and of `A100-SXM4-40GB`, a100 and sxm4."""
    words = re.split(r"[\s-]+", name.lower())
    return frozenset(word for word in words if word not in _MAKERS and not _MEMORY.fullmatch(word))
