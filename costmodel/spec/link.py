"""Tier: ranks that reach one another over one kind of link, from the NVLink island to the wide-area network."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from costmodel.spec.base import Source, Spec


class LinkKind(StrEnum):
    """What joins the devices of one tier."""

    NVLINK = "nvlink"
    XGMI = "xgmi"
    PCIE = "pcie"
    SHARED_MEMORY = "shared-memory"
    INFINIBAND = "infiniband"
    ROCE = "roce"
    EFA = "efa"
    ETHERNET = "ethernet"
    """TCP over sockets."""
    WAN = "wan"

    @property
    def is_direct(self) -> bool:
        """Whether it joins GPUs of one domain without PCIe."""
        return self in (LinkKind.NVLINK, LinkKind.XGMI)

    @property
    def is_network(self) -> bool:
        """Whether it joins machines, so that data passes network adapters."""
        return self in (*ADAPTER_LINKS, LinkKind.WAN)


ADAPTER_LINKS = (LinkKind.INFINIBAND, LinkKind.ROCE, LinkKind.EFA, LinkKind.ETHERNET)
"""What the network adapters of a machine speak."""


class Tier(Spec):
    """Units of consecutive ranks that reach each other over one kind of link."""

    name: str = Field(min_length=1)
    num_devices: int = Field(gt=0)
    """Of each unit; of the largest where they differ."""
    unit_sizes: tuple[int, ...] = ()
    """Devices of every unit in the order of the ranks, where they differ; empty where all hold `num_devices`."""
    link: LinkKind
    is_mesh: bool = False
    """Whether each link leads to one peer only, so that a group uses those among its members and no other."""
    nvls_min_devices: int | None = Field(default=None, ge=2)
    """Devices of the smallest group whose all-reduce the switch helps to sum (NVLink SHARP); None where it cannot."""
    bandwidth_bytes_per_s: float = Field(gt=0)
    """Per device and direction, with all its peers."""
    latency_s: float = Field(gt=0)
    """Of one hop of a ring step; of GPUs in the protocol for large messages, from which those of the others follow."""
    source: Source
    note: str = ""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.unit_sizes and (min(self.unit_sizes) < 1 or max(self.unit_sizes) != self.num_devices):
            raise ValueError(
                f"unit_sizes must be from 1 to num_devices, and its largest num_devices {self.num_devices}"
            )
        return self

    @property
    def pair_bytes_per_s(self) -> float:
        """Between two devices, per direction: in a mesh they have one of the links, else all that each has."""
        return self.bandwidth_bytes_per_s / (max(1, self.num_devices - 1) if self.is_mesh else 1)

    def sizes(self, num_ranks: int) -> tuple[int, ...]:
        """Devices of every unit where `num_ranks` ranks fill the units in order; the last may hold fewer."""
        if self.unit_sizes:
            return self.unit_sizes
        full, rest = divmod(num_ranks, self.num_devices)
        return (self.num_devices,) * full + ((rest,) if rest else ())


def joined_without_network(tiers: Iterable[Tier]) -> int:
    """Devices that reach one another without a network: of a machine, or of a rack of one NVLink domain."""
    return max((tier.num_devices for tier in tiers if not tier.link.is_network), default=1)
