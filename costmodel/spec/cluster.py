"""ClusterSpec: machines in the order of the ranks, and the tiers of links that join their devices."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from itertools import accumulate
from typing import ClassVar, Self

from pydantic import Field, model_validator

from costmodel.spec.base import Document
from costmodel.spec.collective import CollectiveTable
from costmodel.spec.device import Device, DeviceKind, slowest
from costmodel.spec.link import Tier
from costmodel.spec.node import Node, NodeGroup
from costmodel.spec.shown import shown

MAX_CLUSTER_DEVICES = 1_000_000
"""Ten times the largest cluster; what is larger was mistyped, and would take long to say so."""


class ClusterSpec(Document):
    """Ranks fill the machines in order; the tiers nest, the innermost first."""

    SCHEMA: ClassVar[str] = "cluster/2"

    name: str = Field(min_length=1)
    nodes: tuple[NodeGroup, ...] = Field(min_length=1)
    tiers: tuple[Tier, ...]
    """Empty where there is one device, which is joined to no other."""
    tables: tuple[CollectiveTable, ...] = ()
    """Measured collectives of such machines; empty where only formulas price them."""

    @classmethod
    def uniform(cls, name: str, device: Device, num_devices: int, tiers: tuple[Tier, ...]) -> Self:
        """`num_devices` equal devices; those of the innermost tier share a machine, and the last may hold fewer."""
        sizes = tiers[0].sizes(num_devices)
        full = Node(device=device, num_devices=min(sizes[0], num_devices))
        groups = [NodeGroup(num_nodes=sizes.count(full.num_devices), node=full)]
        if sizes[-1] != full.num_devices:
            groups.append(NodeGroup(num_nodes=1, node=full.model_copy(update={"num_devices": sizes[-1]})))
        return cls(name=name, nodes=tuple(groups), tiers=tiers)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.num_devices > MAX_CLUSTER_DEVICES:
            raise ValueError(f"machines hold {self.num_devices:,} devices in all, more than {MAX_CLUSTER_DEVICES:,}")
        if not self.tiers and self.num_devices > 1:
            raise ValueError(f"tiers are missing: nothing says how the {self.num_devices} devices are joined")
        sizes = [tier.num_devices for tier in self.tiers]
        if sizes != sorted(set(sizes)):
            raise ValueError(f"tiers must grow from the innermost to the outermost; they hold {sizes} devices")
        if sizes and sizes[-1] < self.num_devices:
            raise ValueError(f"the outermost tier joins {sizes[-1]} devices, but the cluster has {self.num_devices}")
        twice = next((name for name, count in Counter(tier.name for tier in self.tiers).items() if count > 1), None)
        if twice is not None:
            raise ValueError(f"two tiers are called {shown(twice)}; give each a name of its own")
        machine_ends = set(accumulate(self.node_sizes, initial=0))
        outer_ends = {0, self.num_devices}
        for tier in reversed(self.tiers):
            ends = set(accumulate(tier.sizes(self.num_devices), initial=0))
            if tier.unit_sizes and max(ends) != self.num_devices:
                raise ValueError(
                    f"unit_sizes of tier {tier.name} add up to {max(ends)} devices, but there are {self.num_devices}"
                )
            if not outer_ends <= ends:
                raise ValueError(f"units of tier {tier.name} lie across those of the next outer tier")
            if not (machine_ends <= ends or ends <= machine_ends):
                _check_unit_by_unit(tier, self.num_devices, machine_ends)
            outer_ends = ends
        slowest(self.devices)
        return self

    @cached_property
    def num_devices(self) -> int:
        """Of all machines."""
        return sum(group.num_devices for group in self.nodes)

    @cached_property
    def devices(self) -> tuple[Device, ...]:
        """The kinds of devices, each once."""
        found: list[Device] = []
        for group in self.nodes:
            if group.node.device not in found:
                found.append(group.node.device)
        return tuple(found)

    @cached_property
    def device(self) -> Device:
        """What every rank is priced on: the device, or what the slowest of them reaches where they differ."""
        return slowest(self.devices)

    @cached_property
    def node_sizes(self) -> tuple[int, ...]:
        """Devices of every machine, in order."""
        return tuple(group.node.num_devices for group in self.nodes for _ in range(group.num_nodes))

    @property
    def device_noun(self) -> str:
        """What people call a device."""
        return "GPU" if self.devices[0].kind is DeviceKind.CUDA else "device"

    @property
    def devices_per_node(self) -> int:
        """Devices of the largest machine."""
        return max(group.node.num_devices for group in self.nodes)

    def with_device(self, device: Device) -> Self:
        """The same machines with other devices."""
        groups = tuple(
            group.model_copy(update={"node": group.node.model_copy(update={"device": device})}) for group in self.nodes
        )
        return type(self)(name=self.name, nodes=groups, tiers=self.tiers, tables=self.tables)

    def with_tiers(self, *tiers: Tier) -> Self:
        """The same machines joined by other links."""
        return type(self)(name=self.name, nodes=self.nodes, tiers=tiers, tables=self.tables)


def _check_unit_by_unit(tier: Tier, num_devices: int, machine_ends: set[int]) -> None:
    """Raise ValueError unless each unit lies in one machine or consists of whole ones."""
    first = 0
    for size in tier.sizes(num_devices):
        last = first + size
        is_whole = first in machine_ends and last in machine_ends
        if not is_whole and any(end in machine_ends for end in range(first + 1, last)):
            raise ValueError(
                f"tier {tier.name} joins devices {first + 1} to {last}, which are neither of one machine nor whole "
                "machines"
            )
        first = last
