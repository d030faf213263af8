"""Device: one accelerator, or one CPU rank with its share of the cores."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from costmodel.spec.base import Source, Spec
from costmodel.spec.number_format import NumberFormat
from costmodel.spec.shown import shown
from costmodel.spec.workload import Precision


class DeviceKind(StrEnum):
    """What computes: decides backend and memory counter. PyTorch calls ROCm `cuda` as well."""

    CUDA = "cuda"
    CPU = "cpu"


MAKERS = {"AMD": ("AMD",), "NVIDIA": ("NVIDIA", "Tesla", "GeForce", "Quadro", "TITAN")}
"""Makers of GPUs, and the words that the names which their drivers report begin with."""

FIGURES = (
    "peak_flop_per_s",
    "gemm_efficiency_frac",
    "attention_efficiency_frac",
    "memory_bytes",
    "memory_reserved_bytes",
    "mem_bandwidth_bytes_per_s",
    "peer_link_bytes_per_s",
    "pcie_bytes_per_s",
    "power_w",
)
"""Fields of a device that somebody measured, published or assumed."""


class Device(Spec):
    """What one rank computes on."""

    name: str = Field(min_length=1)
    """As its driver reports it."""
    kind: DeviceKind
    peak_flop_per_s: dict[NumberFormat, float] = Field(min_length=1)
    """Dense peak per format, never the sparse one; a format the hardware lacks is absent. Of int8, operations."""
    gemm_efficiency_frac: float = Field(gt=0, le=1)
    """Best share of the peak that large matrix multiplications reach."""
    attention_efficiency_frac: float = Field(gt=0, le=1)
    """Share of the peak that the forward attention kernel reaches, the causal half counted."""
    memory_bytes: int = Field(gt=0)
    """What the device has, as its driver states it."""
    memory_reserved_bytes: int = Field(default=0, ge=0)
    """What context and communication library take before a process may allocate."""
    mem_bandwidth_bytes_per_s: float = Field(gt=0)
    peer_link_bytes_per_s: float | None = Field(default=None, gt=0)
    """Of one NVLink or xGMI link, per direction, as collectives reach it; None where it has none or nobody says."""
    num_peer_links: int | None = Field(default=None, gt=0)
    """How many of these it has; None where nobody says."""
    pcie_bytes_per_s: float | None = Field(default=None, gt=0)
    """Of its PCIe slot, per direction."""
    power_w: float | None = Field(default=None, gt=0)
    """Most that it draws; None where nobody says."""
    source: Source
    note: str = ""
    """Where the figures were published or how they were measured."""
    sources: dict[str, str] = Field(default_factory=dict)
    """Where each figure comes from, by the name of its field; empty where they were measured together."""

    @property
    def assumed_figures(self) -> tuple[str, ...]:
        """The figures that nobody stated, where those of others have a source: these alone make the device assumed."""
        if self.source is not Source.ASSUMED or not self.sources:
            return ()
        # Nothing that is reserved is no figure.
        return tuple(name for name in FIGURES if name not in self.sources and getattr(self, name))

    @property
    def memory_limit_bytes(self) -> int:
        """What one training process may allocate."""
        return self.memory_bytes - self.memory_reserved_bytes

    @property
    def maker(self) -> str | None:
        """Who makes it, by the name that its driver reports; None where that does not say."""
        return next((maker for maker, words in MAKERS.items() if self.name.split(" ", 1)[0] in words), None)

    @property
    def precisions(self) -> tuple[Precision, ...]:
        """What it computes in of what jobs are planned in."""
        return tuple(precision for precision in Precision if NumberFormat(precision) in self.peak_flop_per_s)

    def peak_in(self, precision: Precision) -> float:
        """FLOP per second in `precision`, which must be one of `precisions`."""
        return self.peak_flop_per_s[NumberFormat(precision)]

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.memory_reserved_bytes >= self.memory_bytes:
            raise ValueError(f"memory_reserved_bytes {self.memory_reserved_bytes} leaves nothing to allocate")
        if any(peak <= 0 for peak in self.peak_flop_per_s.values()):
            raise ValueError("peak_flop_per_s must be above 0")
        if not self.precisions:
            raise ValueError(f"peak_flop_per_s must state one of {', '.join(Precision)}, which jobs are planned in")
        for name in self.sources:
            if name not in FIGURES or getattr(self, name) is None:
                raise ValueError(f"sources names {shown(name)}, which is no figure that the device has")
        return self


def slowest(devices: Sequence[Device]) -> Device:
    """What ranks reach that wait for one another on different devices: of every figure the least.

    A format that one of them lacks is absent. Raises ValueError where CPUs and GPUs or GPUs of two makers are mixed,
    or where the devices share no precision.
    """
    first, *others = devices
    if not others:
        return first
    if {device.kind for device in others} != {first.kind}:
        raise ValueError("CPUs and GPUs cannot train together")
    makers = list(dict.fromkeys(device.maker for device in devices if device.maker is not None))
    if len(makers) > 1:
        raise ValueError(
            f"GPUs of {' and '.join(makers)} cannot train together: NCCL and RCCL join no common communicator; plan "
            "for each kind alone"
        )
    shared = {
        number_format: min(device.peak_flop_per_s[number_format] for device in devices)
        for number_format in first.peak_flop_per_s
        if all(number_format in device.peak_flop_per_s for device in others)
    }
    precisions = [precision for precision in first.precisions if NumberFormat(precision) in shared]
    if not precisions:
        raise ValueError(f"{' and '.join(device.name for device in devices)} share no precision to compute in")
    # Shares of a peak do not compare, what is reached does; one precision stands for all.
    compared = precisions[0]
    peak = min(device.peak_in(compared) for device in devices)
    gemm = min(device.gemm_efficiency_frac * device.peak_in(compared) for device in devices)
    attention = min(device.attention_efficiency_frac * device.peak_in(compared) for device in devices)
    least_memory = min(devices, key=lambda device: device.memory_limit_bytes)
    return Device(
        name=" and ".join(dict.fromkeys(device.name for device in devices)),
        kind=first.kind,
        peak_flop_per_s=shared,
        gemm_efficiency_frac=min(1.0, gemm / peak),
        attention_efficiency_frac=min(1.0, attention / peak),
        memory_bytes=least_memory.memory_bytes,
        memory_reserved_bytes=least_memory.memory_reserved_bytes,
        mem_bandwidth_bytes_per_s=min(device.mem_bandwidth_bytes_per_s for device in devices),
        source=Source.worst(*(device.source for device in devices)),
        note="the least of every figure: ranks on unlike devices wait for the slowest",
    )
