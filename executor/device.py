"""Which device the ranks of this computer use, and whether there are enough of it."""

from __future__ import annotations

import torch

from costmodel.errors import BadInputError, MissingError


def choose_device(device: str) -> torch.device:
    """The device type for `auto`, `cpu` or `cuda`. Raises MissingError for cuda where there is none."""
    if device not in {"auto", "cpu", "cuda"}:
        raise BadInputError(f"device is {device!r}; it must be auto, cpu or cuda")
    # Counting through NVML leaves CUDA uninitialised, so that ranks can still be forked.
    has_cuda = torch.cuda.device_count() > 0
    if device == "cuda" and not has_cuda:
        raise MissingError("device is cuda, but there is no CUDA device here; use --device cpu")
    return torch.device("cuda" if has_cuda and device != "cpu" else "cpu")


def check_enough_devices(num_local_ranks: int, device: torch.device) -> None:
    """Raises BadInputError for more ranks than this computer has CUDA devices. CPU ranks may outnumber the cores."""
    if device.type == "cpu":
        return
    num_devices = torch.cuda.device_count()
    if num_local_ranks > num_devices:
        raise BadInputError(
            f"{num_local_ranks} CUDA ranks are asked for, but there are {num_devices} CUDA devices here; "
            f"use a plan for at most {num_devices} ranks, or --device cpu"
        )
