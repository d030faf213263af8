"""The links of presets: what joins the GPUs of a usual machine, and whether a topology says the same."""

from __future__ import annotations

from costmodel.errors import BadInputError
from costmodel.spec import Node, NodeGroup, Tier
from costmodel.spec.link import joined_without_network
from planner.clusters.fitting import fitted, resized
from planner.clusters.node_links import levels_of_topology
from planner.clusters.presets import device_data, preset_data, preset_of_device, usual_size
from planner.clusters.stated_tiers import read_stated_tiers


def tiers_of_preset(node: Node, where: str) -> tuple[tuple[Tier, ...], Tier | None]:
    """Tiers inside such a machine of the node's device, or rack of them, and the one beyond where there is one."""
    name = preset_of_device(node.device.name)
    if name is None:
        raise BadInputError(
            f"{where}: tiers is missing: nothing says how {node.device.name} reaches the others of its machine; state "
            "tiers, or give its topology"
        )
    data, size = preset_data(name), usual_size(name)
    # One machine more than the widest stated tier joins, so that none is cut.
    num_nodes = 1 + max(-(-tier.get("num_devices", size) // size) for tier in data["tiers"])
    usual = NodeGroup(num_nodes=num_nodes, node=Node(device=node.device, num_devices=size))
    stated = read_stated_tiers(data["tiers"], f"preset {name}")
    tiers = fitted(() if stated is None else stated.tiers, (usual,), usual.num_devices)
    inner = tuple(_of_machine(tier, size, node.num_devices) for tier in tiers if not tier.link.is_network)
    return inner, next((tier for tier in tiers if tier.link.is_network), None)


def _of_machine(tier: Tier, usual: int, size: int) -> Tier:
    """`tier` of a machine of `usual` devices in one of `size`: the tier that is the machine grows with it."""
    if tier.num_devices > usual:
        return tier
    return resized(tier, size if tier.num_devices == usual else min(tier.num_devices, size))


def rack_size(device_name: str) -> int:
    """GPUs of a rack of one NVLink domain, of the preset whose device the driver calls so; 1 where it has none."""
    name = preset_of_device(device_name)
    stated = None if name is None else read_stated_tiers(preset_data(name)["tiers"], f"preset {name}")
    joined = 1 if stated is None else joined_without_network(stated.inside)
    return joined if name is not None and joined > usual_size(name) else 1


def joins_as_published(node: Node) -> bool:
    """Whether nothing says other links than those of the preset of the node's device.

    A topology says the same where it joins all GPUs by all the links that they have, through switches.
    """
    if node.topology is None:
        return True
    name = preset_of_device(node.device.name)
    if name is None or node.num_devices == 1:
        return False
    if node.device.peer_link_bytes_per_s != device_data(name).get("peer_link_bytes_per_s"):
        return False  # A figure of one's own, which the topology's links are meant to be multiplied by.
    if any(pair.num_links != node.device.num_peer_links for pair in node.topology.pairs if pair.kind.is_direct):
        return False
    found = levels_of_topology(node.topology, node.device, "topology", peer_access=node.peer_access).tiers
    published = tiers_of_preset(node, "topology")[0]
    return len(found) == len(published) == 1 and all(
        tier.link.is_direct and tier.link is published[0].link and not tier.is_mesh for tier in (*found, *published)
    )
