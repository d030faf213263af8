"""Finds out through NVML how the GPUs of this computer are joined: NVLink, or PCIe and how far apart."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from costmodel.errors import MissingError
from costmodel.spec import LinkKind

PCIE_LEVELS = (
    (0, "on one board"),
    (10, "under one PCIe switch"),
    (20, "under several PCIe switches"),
    (30, "under one PCIe host bridge"),
    (40, "under one CPU socket"),
    (50, "across CPU sockets"),
)
"""Values of nvmlGpuTopologyLevel_t (nvml.h), from the nearest to the farthest common ancestor."""


@dataclass(frozen=True)
class GpuLinks:
    """How the GPUs of the ranks are joined."""

    kind: LinkKind
    """NVLink only where every pair is joined by it: the slowest pair sets the pace of a ring."""
    note: str
    driver: str


def detect_links(uuids: Sequence[str], nvml: Any = None) -> GpuLinks:
    """Links between the GPUs with these `uuids` (as the driver writes them, `GPU-...`), in rank order.

    `nvml` is a module with the functions of pynvml; pynvml itself where it is None. Raises MissingError where NVML
    does not answer.
    """
    if nvml is None:
        nvml = importlib.import_module("pynvml")
    try:
        nvml.nvmlInit()
        try:
            return _detect(uuids, nvml)
        finally:
            nvml.nvmlShutdown()
    except nvml.NVMLError as error:
        raise MissingError(
            f"NVML cannot tell how the GPUs are joined ({error}); check that nvidia-smi works here"
        ) from None


def _detect(uuids: Sequence[str], nvml: Any) -> GpuLinks:
    driver = str(nvml.nvmlSystemGetDriverVersion())
    gpus = [nvml.nvmlDeviceGetHandleByUUID(uuid) for uuid in uuids]
    pairs = list(combinations(gpus, 2))
    if not pairs:
        return GpuLinks(LinkKind.PCIE, "one GPU; no pair to join", driver)
    remotes = {id(gpu): _nvlink_remotes(gpu, nvml) for gpu in gpus}
    num_nvlink = sum(_joined(remotes[id(one)], remotes[id(other)], one, other, nvml) for one, other in pairs)
    if num_nvlink == len(pairs):
        through = "an NVSwitch" if any(None in remotes[id(gpu)] for gpu in gpus) else "direct links"
        return GpuLinks(LinkKind.NVLINK, f"NVLink joins all {len(pairs)} pairs through {through}", driver)
    farthest = max(int(nvml.nvmlDeviceGetTopologyCommonAncestor(one, other)) for one, other in pairs)
    where = next(text for level, text in PCIE_LEVELS if farthest <= level)
    return GpuLinks(
        LinkKind.PCIE, f"NVLink joins {num_nvlink} of {len(pairs)} pairs; the farthest pair is {where}", driver
    )


def _nvlink_remotes(gpu: Any, nvml: Any) -> list[str | None]:
    """What each active NVLink of `gpu` leads to: the PCI bus id of a GPU, or None for a switch."""
    remotes: list[str | None] = []
    for link in range(nvml.NVML_NVLINK_MAX_LINKS):
        try:
            if nvml.nvmlDeviceGetNvLinkState(gpu, link) != nvml.NVML_FEATURE_ENABLED:
                continue
            is_switch = nvml.nvmlDeviceGetNvLinkRemoteDeviceType(gpu, link) == nvml.NVML_NVLINK_DEVICE_TYPE_SWITCH
            remotes.append(None if is_switch else str(nvml.nvmlDeviceGetNvLinkRemotePciInfo(gpu, link).busId))
        except (nvml.NVMLError_NotSupported, nvml.NVMLError_InvalidArgument):
            # A GPU without NVLink, or with fewer links than the most that any GPU has.
            break
    return remotes


def _joined(of_one: list[str | None], of_other: list[str | None], one: Any, other: Any, nvml: Any) -> bool:
    """Whether an NVLink leads from one GPU to the other, or both reach the switches of the node."""
    if None in of_one and None in of_other:
        return True
    return _bus_id(other, nvml) in of_one or _bus_id(one, nvml) in of_other


def _bus_id(gpu: Any, nvml: Any) -> str:
    return str(nvml.nvmlDeviceGetPciInfo(gpu).busId)
