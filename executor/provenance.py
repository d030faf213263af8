"""On what and with what a run was made."""

from __future__ import annotations

from importlib.metadata import version

import torch
import torch.distributed as dist

from costmodel.host import provenance_here
from costmodel.spec import Provenance

PACKAGES = ("torch", "transformers", "parallelism-planner")


def provenance_of_rank(device: torch.device) -> Provenance:
    """Describes the computer of this rank, its software and the process group it is in."""
    on_cuda = device.type == "cuda"
    return provenance_here(
        gpu=torch.cuda.get_device_name(device) if on_cuda else None,
        gpu_driver=f"CUDA {torch.version.cuda}" if on_cuda else None,
        backend=dist.get_backend(),
        versions={package: version(package) for package in PACKAGES},
        num_ranks=dist.get_world_size(),
        threads_per_rank=torch.get_num_threads(),
    )
