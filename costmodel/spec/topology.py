"""NodeTopology: how the GPUs and network adapters of one machine reach one another, pair by pair."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Self

from pydantic import Field, model_validator

from costmodel.spec.base import Document, Spec

MAX_DEVICES = 1024
"""GPUs and network adapters of one machine; the largest has a tenth of them."""


class PathKind(StrEnum):
    """What two devices of a machine reach each other over, the nearest first. The names are those of `nvidia-smi`."""

    NVLINK = "NV"
    """Bonded NVLinks, direct or through switches."""
    XGMI = "XGMI"
    """Links between GPUs of AMD."""
    PIX = "PIX"
    """At most one PCIe bridge."""
    PXB = "PXB"
    """Several PCIe bridges, but not the host."""
    PCIE = "PCIE"
    """PCIe, which way is not said (`rocm-smi`)."""
    PHB = "PHB"
    """PCIe and its host bridge: typically the CPU."""
    NODE = "NODE"
    """PCIe and what joins the host bridges of one NUMA node."""
    SYS = "SYS"
    """PCIe and what joins the sockets."""

    @property
    def is_direct(self) -> bool:
        """Whether the devices share links of their own, apart from PCIe."""
        return self in (PathKind.NVLINK, PathKind.XGMI)


class Pair(Spec):
    """Two devices of one machine, by their names, and what joins them."""

    pair: tuple[str, str]
    kind: PathKind
    num_links: int = Field(default=1, ge=1)
    """Bonded NVLinks; 1 for every other kind."""

    @property
    def label(self) -> str:
        """As the tool writes it, e.g. `NV18` or `PIX`."""
        return f"{self.kind.value}{self.num_links}" if self.kind is PathKind.NVLINK else self.kind.value


class NodeTopology(Document):
    """One machine, as a tool of its driver describes it."""

    SCHEMA: ClassVar[str] = "topology/1"

    gpus: tuple[str, ...] = Field(min_length=1, max_length=MAX_DEVICES)
    """Names in the order of the tool: `GPU0`, `GPU1`, ..."""
    nics: tuple[str, ...] = Field(default=(), max_length=MAX_DEVICES)
    """Names of network adapters in the order of the tool: `NIC0` or, with old drivers, `mlx5_0`."""
    nic_devices: dict[str, str] = Field(default_factory=dict)
    """What the operating system calls an adapter, by its name, where the tool says so."""
    pairs: tuple[Pair, ...] = ()
    """Every pair that the tool describes, once, in the order of the devices."""
    numa_of_gpu: dict[str, str] = Field(default_factory=dict)
    """NUMA affinity of a GPU as written (`0`, or a list), where the tool says so."""
    warnings: tuple[str, ...] = ()
    """What is missing or contradicts itself."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        devices = (*self.gpus, *self.nics)
        if len(set(devices)) != len(devices):
            raise ValueError("a device stands twice")
        known, seen = set(devices), set()
        for item in self.pairs:
            first, second = item.pair
            if first == second or not {first, second} <= known:
                raise ValueError(f"a pair of {first} and {second} is none of two devices that it has")
            if frozenset(item.pair) in seen:
                raise ValueError(f"the pair of {first} and {second} stands twice")
            seen.add(frozenset(item.pair))
        return self

    def first(self, num_gpus: int) -> Self:
        """The machine with its first GPUs alone, and all adapters."""
        kept = {*self.gpus[:num_gpus], *self.nics}
        return self.model_copy(
            update={
                "gpus": self.gpus[:num_gpus],
                "pairs": tuple(item for item in self.pairs if set(item.pair) <= kept),
                "numa_of_gpu": {gpu: numa for gpu, numa in self.numa_of_gpu.items() if gpu in kept},
            }
        )

    def between(self, first: str, second: str) -> Pair | None:
        """What joins two devices; None where the tool does not say."""
        wanted = {first, second}
        return next((item for item in self.pairs if set(item.pair) == wanted), None)
