"""The machines of a cluster file: one kind of machine in short, or a list of groups of equal ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from costmodel.errors import BadInputError
from costmodel.spec import Device, Node, NodeGroup, NodeTopology, PathKind, Tier
from costmodel.spec.cluster import MAX_CLUSTER_DEVICES
from costmodel.spec.faults import offer
from costmodel.spec.shown import shown
from planner.clusters.devices import read_device
from planner.clusters.presets import machine_names, preset_data, preset_named, preset_of_device, usual_size
from planner.clusters.stated_tiers import StatedTiers
from planner.clusters.topology import read_topology

GROUP_KEYS = {"num_nodes", *Node.model_fields}
"""What one entry of `nodes` may hold."""
SHORT_KEYS = GROUP_KEYS - {"name", "num_devices"}
"""What stands at the top of a file whose machines are all equal, beside num_devices (of all) and devices_per_node."""

MEASURED_WITH = ("num_devices", "nics", "topology")
"""What a machine must have as its preset states it for what was measured between such machines to hold."""
MAKERS_OF_LINKS = {PathKind.NVLINK: "NVIDIA", PathKind.XGMI: "AMD"}


@dataclass(frozen=True)
class Machines:
    """Groups of equal machines in the order of the ranks."""

    groups: tuple[NodeGroup, ...]
    whole: tuple[Node, ...]
    """Of every group, the machine that it holds, or of which it holds the first devices."""
    is_open: bool = False
    """Whether the last group may be as large as it needs to."""
    assumptions: tuple[str, ...] = ()
    preset: str | None = None
    """The preset of a machine that all are as it states them, so that what was measured between those holds."""

    @classmethod
    def of(cls, groups: tuple[NodeGroup, ...], *, is_open: bool = False) -> Self:
        """Groups of whole machines."""
        return cls(groups, tuple(group.node for group in groups), is_open)

    @property
    def num_devices(self) -> int:
        """Of all groups, the last one as it stands."""
        return sum(group.num_devices for group in self.groups)

    def filled(self, num_devices: int) -> Self:
        """`num_devices` devices: the first ones, the last group grown where it may, the last machine cut.

        Raises ValueError where there are fewer.
        """
        left = num_devices
        groups: list[NodeGroup] = []
        whole: list[Node] = []
        for index, (group, machine) in enumerate(zip(self.groups, self.whole, strict=True)):
            size = group.node.num_devices
            may_grow = self.is_open and index == len(self.groups) - 1
            count = left // size if may_grow else min(group.num_nodes, left // size)
            if count:
                groups.append(NodeGroup(num_nodes=count, node=group.node))
                whole.append(machine)
            left -= count * size
            if 0 < left < size and (may_grow or count < group.num_nodes):
                groups.append(NodeGroup(num_nodes=1, node=_cut(group.node, left)))
                whole.append(machine)
                left = 0
            if left == 0:
                return replace(self, groups=tuple(groups), whole=tuple(whole), is_open=False)
        raise ValueError(f"there are {num_devices - left} devices, not {num_devices}")


def _cut(node: Node, num_devices: int) -> Node:
    """A machine with its first devices alone."""
    topology = node.topology.first(num_devices) if node.topology is not None else None
    return node.model_copy(update={"num_devices": num_devices, "topology": topology})


def read_machines(data: Mapping[str, Any], stated: StatedTiers | None, where: str, folder: Path) -> Machines:
    """The machines that the keys of a cluster file describe; a file named in it lies in `folder`.

    Raises BadInputError naming the key at fault.
    """
    inside = stated.inside if stated is not None else ()
    if "nodes" not in data:
        group = {key: data[key] for key in SHORT_KEYS if key in data}
        if "devices_per_node" in data:
            group["num_devices"] = data["devices_per_node"]
        total = data.get("num_devices")
        machines = _machines([group], inside, where, folder, "")
        if total is None:
            return machines
        if data.get("num_nodes") is not None:
            raise BadInputError(f"{where}: num_devices and num_nodes both stand there; one of them says the other")
        if type(total) is not int:
            raise BadInputError(f"{where}: num_devices is {shown(total)}, but must be a whole number")
        return machines.filled(total)
    extra = [key for key in (*SHORT_KEYS, "num_devices", "devices_per_node") if key in data]
    if extra:
        raise BadInputError(f"{where}: {extra[0]} stands beside nodes; write it in each entry of nodes")
    entries = data["nodes"]
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        raise BadInputError(f"{where}: nodes must be a list of machines, each with a device and num_devices")
    return _machines(entries, inside, where, folder, "nodes")


def _machines(entries: list[dict[str, Any]], inside: Sequence[Tier], where: str, folder: Path, key: str) -> Machines:
    groups: list[NodeGroup] = []
    sentences: list[str] = []
    presets: list[str | None] = []
    for index, entry in enumerate(entries):
        place = f"{where}: {key}.{index}" if key else where
        stated = {name: value for name, value in _flat(entry, place).items() if value is not None}
        unknown = next((name for name in stated if name not in GROUP_KEYS), None)
        if unknown is not None:
            raise BadInputError(f"{place}: unknown key {shown(unknown)}; {offer(str(unknown), GROUP_KEYS)}")
        if "device" not in stated:
            raise BadInputError(
                f"{place}: key 'device' is missing; the name of a preset or a device's figures is needed"
            )
        if "num_nodes" not in stated and index < len(entries) - 1:
            raise BadInputError(f"{place}: num_nodes is missing; only the last entry may leave it open")
        preset, published = _published_machine(stated["device"])
        is_changed = any(name in stated and stated[name] != published.get(name) for name in MEASURED_WITH)
        presets.append(None if is_changed else preset)
        device, assumed = read_device(stated["device"], place)
        sentences += assumed
        facts: dict[str, Any] = {**published, **stated, "device": device}
        if "topology" in stated:
            topology = facts["topology"] = read_topology(stated["topology"], place, folder)
            facts["num_devices"] = stated.get("num_devices", len(topology.gpus))
            given = stated["topology"]
            named = f"topology {folder / given}" if isinstance(given, str) else f"{place}: topology"
            sentences += [f"{named}: {said}." for said in topology.warnings]
        if "num_devices" not in facts:
            size_key = "num_devices" if key else "devices_per_node"
            facts["num_devices"] = _usual_size(device, inside, f"{place}: {size_key}")
        count = _count(facts.pop("num_nodes", 1), place)
        _check_topology(facts.get("topology"), device, facts["num_devices"], place)
        groups.append(NodeGroup(num_nodes=count, node=Node.from_data(facts, place)))
    total = sum(group.num_devices for group in groups)
    if total > MAX_CLUSTER_DEVICES:
        raise BadInputError(
            f"{where}: its machines hold {total:,} devices in all, but at most {MAX_CLUSTER_DEVICES:,} are taken"
        )
    return Machines(
        groups=tuple(groups),
        whole=tuple(group.node for group in groups),
        is_open="num_nodes" not in stated,
        assumptions=tuple(dict.fromkeys(sentences)),
        preset=presets[0] if len(set(presets)) == 1 else None,
    )


def _published_machine(device: Any) -> tuple[str | None, dict[str, Any]]:
    """The preset of a machine that stands where a device is asked for, and its facts; none where it is no machine's."""
    named = device.get("preset") if isinstance(device, Mapping) else device
    name = preset_named(named) if isinstance(named, str) else None
    if name is None or name not in machine_names():
        return None, {}
    data = preset_data(name)
    facts = {key: data[key] for key in SHORT_KEYS - {"device"} if key in data}
    return name, {**facts, "num_devices": data["devices_per_node"]}


def _usual_size(device: Device, inside: Sequence[Tier], key: str) -> int:
    """Devices of a machine whose `key` is missing: as many as PCIe joins, else as the device usually comes with.

    NVLink may join several machines, or fewer devices than usual ones hold. Raises BadInputError where nothing says it.
    """
    over_host = [tier.num_devices for tier in inside if not tier.link.is_direct]
    if over_host:
        return max(over_host)
    preset = preset_of_device(device.name)
    sizes = [usual_size(preset)] if preset is not None else []
    sizes += [max(tier.num_devices for tier in inside)] if inside else []
    if not sizes:
        raise BadInputError(f"{key} is missing: how many devices a machine holds")
    return min(sizes)


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


def _check_topology(topology: NodeTopology | None, device: Device, size: int, place: str) -> None:
    """Raise BadInputError where a machine of such devices cannot have the topology."""
    if topology is None:
        return
    if type(size) is int and len(topology.gpus) != size:
        raise BadInputError(
            f"{place}: num_devices is {size}, but its topology describes {len(topology.gpus)} GPUs; leave num_devices "
            "out or give the topology of such a machine"
        )
    for kind, maker in MAKERS_OF_LINKS.items():
        if device.maker not in (maker, None) and any(pair.kind is kind for pair in topology.pairs):
            raise BadInputError(
                f"{place}: its topology has links of {maker} ({kind.value}), but the device is {device.name}; give the "
                "topology of such a machine or another device"
            )
