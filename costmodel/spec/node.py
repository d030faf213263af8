"""Node: one machine: its devices, and what they share. What nobody stated is None, and is asked for where it counts."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from costmodel.spec.base import Spec
from costmodel.spec.device import Device
from costmodel.spec.link import ADAPTER_LINKS, LinkKind
from costmodel.spec.topology import NodeTopology


class Nics(Spec):
    """Network adapters of one machine that training uses."""

    count: int = Field(ge=1)
    bandwidth_bytes_per_s: float = Field(gt=0)
    """Line rate of one, per direction."""
    link: LinkKind
    latency_s: float | None = Field(default=None, gt=0)
    """Of a hop of NCCL's ring for large messages; None where nobody measured it, for that of its kind of link."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.link not in ADAPTER_LINKS:
            raise ValueError(f"link is {self.link.value!r}, but adapters are one of {', '.join(ADAPTER_LINKS)}")
        return self


class Storage(Spec):
    """Where checkpoints go, as one machine reaches it."""

    write_bytes_per_s: float | None = Field(default=None, gt=0)
    read_bytes_per_s: float | None = Field(default=None, gt=0)
    total_write_bytes_per_s: float | None = Field(default=None, gt=0)
    """What all machines together reach at most, where they share it."""


class Node(Spec):
    """One machine."""

    name: str = ""
    """Of the product or instance, e.g. `DGX H100`; empty for one of no name."""
    device: Device
    num_devices: int = Field(gt=0)
    topology: NodeTopology | None = None
    """What the driver's tool says of its links, where it was asked."""
    peer_access: bool | None = None
    """Whether GPUs reach one another over PCIe without host memory between; None where nobody said."""
    nics: Nics | None = None
    host_memory_bytes: int | None = Field(default=None, gt=0)
    num_cores: int | None = Field(default=None, gt=0)
    storage: Storage | None = None
    price_usd_per_device_hour: float | None = Field(default=None, ge=0)
    power_w: float | None = Field(default=None, gt=0)
    """Of the whole machine under load."""
    failures_per_day: float | None = Field(default=None, ge=0)
    """Interruptions of a job that one such machine causes, on average."""
    site: str = ""
    """Where it stands; machines of different sites are joined by a wide-area network."""
    note: str = ""
    """Where its figures come from."""


class NodeGroup(Spec):
    """Equal machines in a row."""

    num_nodes: int = Field(gt=0)
    node: Node

    @property
    def num_devices(self) -> int:
        """Devices of all of them."""
        return self.num_nodes * self.node.num_devices
