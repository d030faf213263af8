"""Measures what the device itself can do: matrix multiplication, attention, copying."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import torch
from torch.nn import functional

from costmodel.spec import Block, Precision, Traced
from costmodel.spec.operations import DotProductAttention, Gemm
from profiler.contract import DTYPES, ProfileRequest
from profiler.rounds import Times
from profiler.stopwatch import stopwatch

SQUARE_GEMM = {"cpu": 512, "cuda": 8192}
"""Side of a square multiplication large enough to reach the rate of the device."""
COPY_BYTES = {"cpu": 64 * 1024**2, "cuda": 1024**3}
"""Larger than any cache."""
SMALL_COPY_BYTES = 1024


class Kernel(StrEnum):
    """What is run."""

    GEMM = "gemm"
    ATTENTION = "attention"
    COPY = "copy"
    SMALL_COPY = "small_copy"


@dataclass(frozen=True)
class KernelCase:
    """One kernel and the work it does: FLOP of GEMM and attention, bytes read and written of a copy."""

    kernel: Kernel
    precision: Precision
    work: float


@dataclass(frozen=True)
class KernelRates:
    """Rates of one rank while all ranks work."""

    gemm_flop_per_s: dict[Precision, float]
    """Of the fastest shape."""
    attention_flop_per_s: float
    """Forward, the causal half counted, at the shape and precision of the profile."""
    copy_bytes_per_s: float
    """Bytes read and written by a copy too large for the caches."""
    small_copy_s: float
    """Time of a copy of 1 KiB."""


class KernelTimer:
    """The kernels on one rank, ready to be timed in rounds."""

    def __init__(self, request: ProfileRequest, device: torch.device) -> None:
        block = request.model.blocks[0]
        micro_batch = max(request.micro_batches)
        side = SQUARE_GEMM[device.type]
        square = Gemm(side, side, side)
        # The other precision only tells what the device could do, and may be slow where it is emulated.
        shapes = {precision: [square] for precision in _precisions(device)}
        shapes.setdefault(request.precision, [square]).append(_largest_gemm(block, micro_batch, request.seq_len))
        attention = _attention_of(block, micro_batch, request.seq_len)
        own = request.precision
        kernels = [
            *(
                (KernelCase(Kernel.GEMM, precision, shape.flop), _gemm(shape, DTYPES[precision], device))
                for precision, of_precision in shapes.items()
                for shape in of_precision
            ),
            (KernelCase(Kernel.ATTENTION, own, attention.flop), _attention(attention, DTYPES[own], device)),
            *(
                (KernelCase(kernel, own, 2.0 * num_bytes), _copy(num_bytes, device))
                for kernel, num_bytes in ((Kernel.COPY, COPY_BYTES[device.type]), (Kernel.SMALL_COPY, SMALL_COPY_BYTES))
            ),
        ]
        self.cases = [case for case, _ in kernels]
        self._calls = [call for _, call in kernels]
        self._watch = stopwatch(device)

    def visit(self) -> list[float]:
        """One round: seconds of each kernel."""
        self._watch.mark()
        for call in self._calls:
            call()
            self._watch.mark()
        return self._watch.read()


def kernel_rates(cases: Sequence[KernelCase], times_by_rank: Sequence[Times]) -> KernelRates:
    """Rates from the rounds of all ranks, each of shape (rounds, cases): of the median round, on the slowest rank."""
    slowest = np.max([np.median(times, axis=0) for times in times_by_rank], axis=0)
    timed = [(case, float(time)) for case, time in zip(cases, slowest, strict=True)]
    gemm_flop_per_s: dict[Precision, float] = {}
    for case, time in timed:
        if case.kernel is Kernel.GEMM:
            gemm_flop_per_s[case.precision] = max(gemm_flop_per_s.get(case.precision, 0.0), case.work / time)
    only = {case.kernel: (case.work, time) for case, time in timed if case.kernel is not Kernel.GEMM}
    attention_flop, attention_s = only[Kernel.ATTENTION]
    copy_bytes, copy_s = only[Kernel.COPY]
    return KernelRates(
        gemm_flop_per_s=gemm_flop_per_s,
        attention_flop_per_s=attention_flop / attention_s,
        copy_bytes_per_s=copy_bytes / copy_s,
        small_copy_s=only[Kernel.SMALL_COPY][1],
    )


def _precisions(device: torch.device) -> list[Precision]:
    """What the device multiplies in hardware, or at all; nobody trains in fp16 on a CPU."""
    if device.type != "cuda":
        return [Precision.BF16, Precision.FP32]
    if not torch.cuda.is_bf16_supported(including_emulation=False):
        return [Precision.FP16, Precision.FP32]
    return list(Precision)


def _largest_gemm(block: Block | Traced, micro_batch: int, seq_len: int) -> Gemm:
    """The multiplication of a whole block that has most FLOP: one matrix of its feed-forward network."""
    gemms = [op for op in block.operations(micro_batch, seq_len) if isinstance(op, Gemm)]
    return max(gemms, key=lambda op: op.flop)


def _attention_of(block: Block | Traced, micro_batch: int, seq_len: int) -> DotProductAttention:
    """The attention of a whole block, of which a profiled model has one."""
    return next(op for op in block.operations(micro_batch, seq_len) if isinstance(op, DotProductAttention))


def _gemm(shape: Gemm, dtype: torch.dtype, device: torch.device) -> Callable[[], object]:
    left = torch.randn(shape.m, shape.k, device=device, dtype=dtype)
    right = torch.randn(shape.k, shape.n, device=device, dtype=dtype)
    product = torch.empty(shape.m, shape.n, device=device, dtype=dtype)
    return lambda: torch.mm(left, right, out=product)


def _attention(shape: DotProductAttention, dtype: torch.dtype, device: torch.device) -> Callable[[], object]:
    query, key, value = (
        torch.randn(shape.batch, heads, shape.num_keys, shape.head_dim, device=device, dtype=dtype)
        for heads in (shape.num_heads, shape.num_kv_heads, shape.num_kv_heads)
    )
    grouped = shape.num_heads != shape.num_kv_heads
    return lambda: functional.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=grouped)


def _copy(num_bytes: int, device: torch.device) -> Callable[[], object]:
    source, target = (torch.zeros(num_bytes, dtype=torch.uint8, device=device) for _ in range(2))
    return lambda: target.copy_(source)
