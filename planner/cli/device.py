"""Which devices are here: kind, number, name, precision, and their published figures."""

from __future__ import annotations

import os

from costmodel.errors import BadInputError
from costmodel.spec import Device, DeviceKind, ModelSpec, Precision
from planner.clusters.read import published_cluster

MAX_CPU_RANKS = 8
"""A CPU profile with more ranks than this takes longer and teaches nothing new."""
MAX_RANKS = 1024
FIRST_BF16_CAPABILITY = (8, 0)
"""CUDA compute capability of Ampere, the first with bf16."""


def find_device(wanted: str) -> DeviceKind:
    """`auto`, `cpu` or `cuda` as what is here.

    Raises BadInputError for another word, MissingError for `cuda` where there is no CUDA device.
    """
    if wanted == DeviceKind.CPU:
        return DeviceKind.CPU
    if wanted not in ("auto", DeviceKind.CUDA):
        raise BadInputError(f"--device is {wanted!r}, but must be auto, cpu or cuda")
    from executor.check import choose_device

    return DeviceKind(choose_device(wanted).type)


def num_cuda_devices() -> int:
    """CUDA devices that torch can use, counted without opening CUDA, so that ranks can still be forked."""
    import torch

    return torch.cuda.device_count()


def default_ranks(kind: DeviceKind) -> int:
    """Ranks to start here: every GPU; on a CPU the largest power of two within its cores, from 2 to 8."""
    if kind is DeviceKind.CUDA:
        return num_cuda_devices()
    cores = min(max(len(os.sched_getaffinity(0)), 2), MAX_CPU_RANKS)
    return 1 << (cores.bit_length() - 1)


def check_ranks(kind: DeviceKind, num_ranks: int) -> None:
    """Raise BadInputError for a number of ranks that this machine cannot hold. CPU ranks may outnumber the cores."""
    most = num_cuda_devices() if kind is DeviceKind.CUDA else MAX_RANKS
    if not 1 <= num_ranks <= most:
        raise BadInputError(f"--nproc is {num_ranks}, but must be a whole number from 1 to {most} on {kind.value}")


def default_precision(kind: DeviceKind) -> Precision:
    """bf16 where every GPU computes in it, else fp32."""
    if kind is DeviceKind.CPU:
        return Precision.FP32
    import pynvml

    pynvml.nvmlInit()
    handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
    oldest = min(tuple(pynvml.nvmlDeviceGetCudaComputeCapability(handle)) for handle in handles)
    return Precision.BF16 if oldest >= FIRST_BF16_CAPABILITY else Precision.FP32


def published_device(kind: DeviceKind) -> Device | None:
    """Published figures of the first GPU here, or None where there are none."""
    if kind is DeviceKind.CPU:
        return None
    import pynvml

    pynvml.nvmlInit()
    cluster = published_cluster(str(pynvml.nvmlDeviceGetName(pynvml.nvmlDeviceGetHandleByIndex(0))))
    return None if cluster is None else cluster.device


def tensor_degrees(model: ModelSpec, num_ranks: int) -> tuple[int, ...]:
    """Tensor-parallel degrees that the model allows on `num_ranks` ranks of one machine."""
    sizes = {model.vocab} | {
        size for block in model.blocks for size in (block.num_heads, block.num_kv_heads, block.ffn_hidden)
    }
    return tuple(tp for tp in range(1, num_ranks + 1) if num_ranks % tp == 0 and all(size % tp == 0 for size in sizes))
