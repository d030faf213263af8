"""On what and with what a run was made. No host names and no paths: a measurement may be published."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import torch

from costmodel.spec import Provenance
from executor.cores import threads_per_rank

PACKAGES = ("torch", "transformers", "parallelism-planner")


def provenance(device_type: str, num_ranks: int) -> Provenance:
    """Describes this computer and its software."""
    on_cuda = device_type == "cuda"
    return Provenance(
        device=torch.cuda.get_device_name() if on_cuda else cpu_name(),
        driver=f"CUDA {torch.version.cuda}" if on_cuda else f"{platform.system()} {platform.release()}",
        backend="nccl" if on_cuda else "gloo",
        versions={"python": platform.python_version(), **{package: version(package) for package in PACKAGES}},
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        num_ranks=num_ranks,
        threads_per_rank=threads_per_rank(num_ranks),
    )


def cpu_name() -> str:
    """The processor's model, as the kernel names it."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()
