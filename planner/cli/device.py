"""Which devices are here: kind, number, name, precision, and their published figures."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from costmodel.errors import BadInputError, MissingError, RunFailedError
from costmodel.spec import Device, DeviceKind, ModelSpec, Precision
from planner.clusters.read import published_cluster

MAX_CPU_RANKS = 8
"""A CPU profile with more ranks than this takes longer and teaches nothing new."""
MAX_RANKS = 1024
FIRST_BF16_CAPABILITY = (8, 0)
"""CUDA compute capability of Ampere, the first with bf16."""
CUDA_START_TIMEOUT_S = 120.0


@dataclass(frozen=True)
class Gpu:
    """A GPU as CUDA describes it."""

    name: str
    capability: tuple[int, int]


def find_device(wanted: str) -> DeviceKind:
    """`auto`, `cpu` or `cuda` as what is here.

    Raises BadInputError for another word, MissingError for `cuda` where there is no CUDA device.
    """
    if wanted == DeviceKind.CPU:
        return DeviceKind.CPU
    if wanted not in ("auto", DeviceKind.CUDA):
        raise BadInputError(f"--device is {wanted!r}, but must be auto, cpu or cuda")
    from executor.device import choose_device

    return DeviceKind(choose_device(wanted).type)


def num_cuda_devices() -> int:
    """CUDA devices that torch can use, counted without opening CUDA, so that ranks can still be forked."""
    import torch

    return torch.cuda.device_count()


def default_ranks(kind: DeviceKind) -> int:
    """Ranks to start here: every GPU; on a CPU the largest power of two within its cores, from 2 to 8."""
    if kind is DeviceKind.CUDA:
        return num_cuda_devices()
    from executor.cores import num_cores

    cores = min(max(num_cores(), 2), MAX_CPU_RANKS)
    return 1 << (cores.bit_length() - 1)


def check_ranks(kind: DeviceKind, num_ranks: int) -> None:
    """Raise BadInputError for a number of ranks that this machine cannot hold. CPU ranks may outnumber the cores."""
    most = num_cuda_devices() if kind is DeviceKind.CUDA else MAX_RANKS
    if not 1 <= num_ranks <= most:
        raise BadInputError(f"--nproc is {num_ranks}, but must be a whole number from 1 to {most} on {kind.value}")


@cache
def gpus_here() -> tuple[Gpu, ...]:
    """The GPUs that torch can use, in the order of the ranks on them.

    Asked of CUDA itself, which heeds CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER where NVML numbers the GPUs of the
    whole machine; and in a process of its own, since no rank can be forked from one that has opened CUDA.
    Raises MissingError where CUDA does not say, whether it refuses, hangs or ends the process that asks.
    """
    from executor.ranks import run_ranks

    try:
        return run_ranks(_describe_gpus, 1, timeout_s=CUDA_START_TIMEOUT_S)[0]
    except RunFailedError as error:
        raise MissingError(_no_cuda(str(error))) from None


def _describe_gpus() -> tuple[Gpu, ...]:
    import torch

    from executor.failures import describe

    try:
        found = [torch.cuda.get_device_properties(index) for index in range(torch.cuda.device_count())]
    except RuntimeError as error:
        raise MissingError(_no_cuda(describe(error))) from None
    return tuple(Gpu(properties.name, (properties.major, properties.minor)) for properties in found)


def _no_cuda(reason: str) -> str:
    return (
        f"torch counts {num_cuda_devices()} CUDA devices, but CUDA does not start: {reason}; check that nvidia-smi "
        "works here, or use --device cpu"
    )


def default_precision(kind: DeviceKind, num_ranks: int) -> Precision:
    """bf16 where the GPUs of all ranks compute in it, else fp32."""
    if kind is DeviceKind.CPU:
        return Precision.FP32
    oldest = min(gpu.capability for gpu in gpus_here()[:num_ranks])
    return Precision.BF16 if oldest >= FIRST_BF16_CAPABILITY else Precision.FP32


def published_device(kind: DeviceKind) -> Device | None:
    """Published figures of the GPU of the first rank, or None where there are none."""
    if kind is DeviceKind.CPU:
        return None
    cluster = published_cluster(gpus_here()[0].name)
    return None if cluster is None else cluster.device


def tensor_degrees(model: ModelSpec, num_ranks: int) -> tuple[int, ...]:
    """Tensor-parallel degrees that the model allows on `num_ranks` ranks of one machine."""
    sizes = {split.size for splits in model.splits.values() for split in splits} | {model.vocab or 1}
    return tuple(tp for tp in range(1, num_ranks + 1) if num_ranks % tp == 0 and all(size % tp == 0 for size in sizes))
