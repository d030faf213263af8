"""ClusterSpec: devices and the tiers of links that join them."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Self

from pydantic import Field, model_validator

from costmodel.spec.base import Document, Source, Spec
from costmodel.spec.workload import Precision


class DeviceKind(StrEnum):
    """What computes: decides backend and memory counter."""

    CUDA = "cuda"
    CPU = "cpu"


class LinkKind(StrEnum):
    """What joins the devices of one tier."""

    NVLINK = "nvlink"
    PCIE = "pcie"
    SHARED_MEMORY = "shared-memory"
    INFINIBAND = "infiniband"
    ETHERNET = "ethernet"


class Device(Spec):
    """One accelerator, or one CPU rank with its share of cores."""

    name: str = Field(min_length=1)
    kind: DeviceKind
    peak_flop_per_s: dict[Precision, float] = Field(min_length=1)
    """Dense peak per precision, never the sparse one; a precision the hardware lacks is absent."""
    gemm_efficiency_frac: float = Field(gt=0, le=1)
    """Best share of the peak that large matrix multiplications reach."""
    attention_efficiency_frac: float = Field(gt=0, le=1)
    """Share of the peak that the forward attention kernel reaches, the causal half counted."""
    memory_bytes: int = Field(gt=0)
    """What the device has, as its driver states it."""
    memory_reserved_bytes: int = Field(default=0, ge=0)
    """What context and communication library take before a process may allocate."""
    mem_bandwidth_bytes_per_s: float = Field(gt=0)
    source: Source
    note: str = ""
    """Where the figures were published or how they were measured."""

    @property
    def memory_limit_bytes(self) -> int:
        """What one training process may allocate."""
        return self.memory_bytes - self.memory_reserved_bytes

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.memory_reserved_bytes >= self.memory_bytes:
            raise ValueError(f"memory_reserved_bytes {self.memory_reserved_bytes} leaves nothing to allocate")
        if any(peak <= 0 for peak in self.peak_flop_per_s.values()):
            raise ValueError("peak_flop_per_s must be above 0")
        return self


class Tier(Spec):
    """Groups of `num_devices` consecutive ranks that reach each other over one kind of link."""

    name: str = Field(min_length=1)
    num_devices: int = Field(gt=0)
    link: LinkKind
    bandwidth_bytes_per_s: float = Field(gt=0)
    """Per device and direction."""
    latency_s: float = Field(gt=0)
    """Of one hop of a ring step."""
    source: Source
    note: str = ""


class ClusterSpec(Document):
    """`num_devices` equal devices in nested tiers, the innermost first; ranks fill the tiers in order."""

    SCHEMA: ClassVar[str] = "cluster/1"

    name: str = Field(min_length=1)
    device: Device
    num_devices: int = Field(gt=0)
    tiers: tuple[Tier, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _check(self) -> Self:
        sizes = [tier.num_devices for tier in self.tiers]
        if sizes != sorted(set(sizes)):
            raise ValueError(f"tiers must grow from the innermost to the outermost; they hold {sizes} devices")
        if sizes[-1] < self.num_devices:
            raise ValueError(f"the outermost tier joins {sizes[-1]} devices, but the cluster has {self.num_devices}")
        return self

    @property
    def devices_per_node(self) -> int:
        """Devices that share the innermost links."""
        return min(self.tiers[0].num_devices, self.num_devices)

    def tier_of(self, num_ranks: int, stride: int = 1) -> Tier:
        """The innermost tier that holds every group of `num_ranks` ranks, `stride` ranks apart.

        Groups are aligned: a group of n ranks with stride s lies within n * s consecutive ranks that start at a
        multiple of n * s. Where that span does not divide a tier, some group crosses it, and the next tier counts.
        """
        span = num_ranks * stride
        for tier in self.tiers:
            if span <= tier.num_devices and (tier.num_devices % span == 0 or self.num_devices <= tier.num_devices):
                return tier
        return self.tiers[-1]
