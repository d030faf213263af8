"""The machines of a cluster file: one kind of machine in short, or a list of groups of equal ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from costmodel.errors import BadInputError
from costmodel.spec import Device, Node, NodeGroup, NodeTopology
from costmodel.spec.faults import offer
from costmodel.spec.shown import shown
from planner.clusters.devices import read_device
from planner.clusters.presets import preset_of_device, usual_size
from planner.clusters.topology import read_topology

GROUP_KEYS = {"num_nodes", *Node.model_fields}
"""What one entry of `nodes` may hold."""
SHORT_KEYS = GROUP_KEYS - {"name", "num_devices"}
"""What stands at the top of a file whose machines are all equal, beside num_devices (of all) and devices_per_node."""


@dataclass(frozen=True)
class Machines:
    """Groups of equal machines in the order of the ranks."""

    groups: tuple[NodeGroup, ...]
    is_open: bool
    """Whether the last group may be as large as it needs to."""
    assumptions: tuple[str, ...]

    def filled(self, num_devices: int) -> tuple[NodeGroup, ...]:
        """Groups with `num_devices` devices: the first ones, the last group grown where it may, the last machine cut.

        Raises ValueError where there are fewer.
        """
        left, found = num_devices, []
        for index, group in enumerate(self.groups):
            size = group.node.num_devices
            is_last = index == len(self.groups) - 1
            count = left // size if is_last and self.is_open else min(group.num_nodes, left // size)
            if count:
                found.append(NodeGroup(num_nodes=count, node=group.node))
            left -= count * size
            more = count < group.num_nodes or (is_last and self.is_open)
            if 0 < left < size and more:
                found.append(NodeGroup(num_nodes=1, node=_cut(group.node, left)))
                left = 0
            if left == 0:
                return tuple(found)
        raise ValueError(f"there are {num_devices - left} devices, not {num_devices}")


def _cut(node: Node, num_devices: int) -> Node:
    """The first devices of a machine; what its tool says of all of them no longer holds."""
    return node.model_copy(update={"num_devices": num_devices, "topology": None})


def read_machines(data: Mapping[str, Any], default_size: int | None, where: str, folder: Path) -> Machines:
    """The machines that the keys of a cluster file describe.

    `default_size` is the number of devices of a machine where the file does not say; a file named in it lies in
    `folder`. Raises BadInputError naming the key at fault.
    """
    if "nodes" not in data:
        group = {key: data[key] for key in SHORT_KEYS if key in data}
        if "devices_per_node" in data:
            group["num_devices"] = data["devices_per_node"]
        total = data.get("num_devices")
        machines = _machines([group], default_size, where, folder, "")
        if total is None:
            return machines
        if data.get("num_nodes") is not None:
            raise BadInputError(f"{where}: num_devices and num_nodes both stand there; one of them says the other")
        if type(total) is not int:
            raise BadInputError(f"{where}: num_devices is {shown(total)}, but must be a whole number")
        return Machines(machines.filled(total), False, machines.assumptions)
    extra = [key for key in (*SHORT_KEYS, "num_devices", "devices_per_node") if key in data]
    if extra:
        raise BadInputError(f"{where}: {extra[0]} stands beside nodes; write it in each entry of nodes")
    entries = data["nodes"]
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        raise BadInputError(f"{where}: nodes must be a list of machines, each with a device and num_devices")
    return _machines(entries, default_size, where, folder, "nodes")


def _machines(entries: list[dict[str, Any]], default_size: int | None, where: str, folder: Path, key: str) -> Machines:
    groups, sentences = [], []
    is_open = False
    for index, entry in enumerate(entries):
        place = f"{where}: {key}.{index}" if key else where
        flat = _flat(entry, place)
        unknown = [name for name in flat if name not in GROUP_KEYS]
        if unknown:
            raise BadInputError(f"{place}: unknown key {shown(unknown[0])}; {offer(str(unknown[0]), GROUP_KEYS)}")
        if "device" not in flat:
            raise BadInputError(
                f"{place}: key 'device' is missing; the name of a preset or a device's figures is needed"
            )
        device, assumed = read_device(flat["device"], place)
        topology = read_topology(flat["topology"], place, folder) if flat.get("topology") is not None else None
        if topology is not None:
            given = flat["topology"]
            named = f"topology {folder / given}" if isinstance(given, str) else f"{place}: topology"
            assumed += tuple(f"{named}: {said}." for said in topology.warnings)
        sentences += [sentence for sentence in assumed if sentence not in sentences]
        size = flat.get("num_devices", len(topology.gpus) if topology is not None else default_size)
        if size is None:
            size = _usual_size(device, place)
        _check_topology(topology, size, place)
        is_open = flat.get("num_nodes") is None
        if is_open and index < len(entries) - 1:
            raise BadInputError(f"{place}: num_nodes is missing; only the last entry may leave it open")
        count = flat.get("num_nodes") or 1
        facts = {name: value for name, value in flat.items() if name != "num_nodes" and value is not None}
        facts |= {"device": device, "num_devices": size, "topology": topology}
        groups.append(NodeGroup(num_nodes=_count(count, place), node=Node.from_data(facts, place)))
    return Machines(tuple(groups), is_open, tuple(sentences))


def _usual_size(device: Device, place: str) -> int:
    """Devices of the machine that the device is usually in."""
    preset = preset_of_device(device.name)
    if preset is None:
        raise BadInputError(f"{place}: num_devices is missing: how many devices a machine holds")
    return usual_size(preset)


def _count(count: Any, place: str) -> int:
    if type(count) is not int or count < 1:
        raise BadInputError(f"{place}: num_nodes is {shown(count)}, but must be a whole number of at least 1")
    return count


def _flat(entry: dict[str, Any], place: str) -> dict[str, Any]:
    """An entry as people write it, or as `ClusterSpec` writes it, with the machine under `node`."""
    if "node" not in entry:
        return entry
    node = entry["node"]
    if not isinstance(node, dict):
        raise BadInputError(f"{place}: node is {shown(node)}, but must hold a machine's keys")
    return {**{key: value for key, value in entry.items() if key != "node"}, **node}


def _check_topology(topology: NodeTopology | None, size: int, place: str) -> None:
    if topology is not None and type(size) is int and len(topology.gpus) != size:
        raise BadInputError(
            f"{place}: num_devices is {size}, but its topology describes {len(topology.gpus)} GPUs; leave num_devices "
            "out or give the topology of such a machine"
        )
