"""Describes the measured machine as a ClusterSpec: one device, and the tier of links that joins its ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from costmodel.host import cpu_name
from costmodel.spec import (
    ClusterSpec,
    CollectiveSample,
    Device,
    DeviceKind,
    LinkKind,
    NumberFormat,
    Source,
    Tier,
)
from profiler.alpha_beta import fit
from profiler.contract import ProfileRequest
from profiler.host import HostMemory
from profiler.kernels import KernelRates
from profiler.links import GpuLinks
from profiler.rank import DeviceReport


@dataclass(frozen=True)
class Machine:
    """What is known of the machine beside times."""

    host_memory: HostMemory
    gpus: tuple[DeviceReport, ...]
    """One per rank; empty on CPU."""
    links: GpuLinks | None
    """None on CPU."""
    threads_per_rank: int


def cluster(
    request: ProfileRequest, machine: Machine, rates: KernelRates, collectives: Sequence[CollectiveSample]
) -> ClusterSpec:
    """This machine as a cluster of `request.num_ranks` devices in one tier."""
    device = _gpu(request, machine, rates) if machine.gpus else _cpu(request, machine, rates)
    kind = "CUDA" if machine.gpus else "CPU"
    return ClusterSpec.uniform(
        name=f"this machine ({request.num_ranks} {kind} rank{'s' if request.num_ranks > 1 else ''})",
        device=device,
        num_devices=request.num_ranks,
        tiers=(_tier(request.num_ranks, machine.links, rates, collectives),),
    )


def _cpu(request: ProfileRequest, machine: Machine, rates: KernelRates) -> Device:
    """A CPU rank: its share of the cores and of the memory. What it reaches is all that is known of its peak."""
    return Device(
        name=cpu_name(),
        kind=DeviceKind.CPU,
        peak_flop_per_s=_best(rates),
        gemm_efficiency_frac=1.0,
        attention_efficiency_frac=min(1.0, rates.attention_flop_per_s / rates.gemm_flop_per_s[request.precision]),
        memory_bytes=machine.host_memory.total_bytes // request.num_ranks,
        memory_reserved_bytes=machine.host_memory.used_bytes // request.num_ranks,
        mem_bandwidth_bytes_per_s=rates.copy_bytes_per_s,
        source=Source.MEASURED,
        note=(
            f"one of {request.num_ranks} ranks with {machine.threads_per_rank} "
            f"core{'s' if machine.threads_per_rank > 1 else ''} each, all measured at once; the peak is the best "
            "measured matrix multiplication, so the GEMM efficiency is 1; memory is an equal share of the machine's, "
            "less what was in use"
        ),
    )


def _gpu(request: ProfileRequest, machine: Machine, rates: KernelRates) -> Device:
    """A GPU: the published peak where it is known, with the measured share of it; else the best measured rate."""
    gpu = min(machine.gpus, key=lambda report: report.memory_bytes - report.overhead_bytes)
    published = request.published
    peak = _best(rates) | (published.peak_flop_per_s if published is not None else {})
    own_peak = peak[NumberFormat(request.precision)]
    return Device(
        name=gpu.name,
        kind=DeviceKind.CUDA,
        peak_flop_per_s=peak,
        gemm_efficiency_frac=min(1.0, rates.gemm_flop_per_s[request.precision] / own_peak),
        attention_efficiency_frac=min(1.0, rates.attention_flop_per_s / own_peak),
        memory_bytes=gpu.memory_bytes,
        memory_reserved_bytes=gpu.overhead_bytes,
        mem_bandwidth_bytes_per_s=rates.copy_bytes_per_s,
        source=Source.MEASURED,
        note="the peak is the best measured matrix multiplication"
        if published is None
        else f"the peak is published ({published.note or published.name}); the rest is measured",
    )


def _best(rates: KernelRates) -> dict[NumberFormat, float]:
    """The best measured matrix multiplication of each format."""
    return {NumberFormat(precision): rate for precision, rate in rates.gemm_flop_per_s.items()}


def _tier(num_ranks: int, links: GpuLinks | None, rates: KernelRates, collectives: Sequence[CollectiveSample]) -> Tier:
    kind = LinkKind.SHARED_MEMORY if links is None else links.kind
    if not collectives:
        return Tier(
            name="node",
            num_devices=num_ranks,
            link=kind,
            # A copy within the device reads and writes; what leaves and arrives is half of what it moves.
            bandwidth_bytes_per_s=rates.copy_bytes_per_s / 2,
            latency_s=rates.small_copy_s,
            source=Source.MEASURED,
            note="one rank, joined to no other: the figures are those of a copy within its own memory",
        )
    line = fit(collectives)
    how = "gloo between processes of one computer" if links is None else links.note
    return Tier(
        name="node",
        num_devices=num_ranks,
        link=kind,
        bandwidth_bytes_per_s=line.bandwidth_bytes_per_s,
        latency_s=line.latency_s,
        source=Source.MEASURED,
        note=f"{how}; a line through all-gathers and messages, off by {line.error_frac:.0%} on average",
    )
