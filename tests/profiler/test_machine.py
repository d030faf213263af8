"""The measured machine as a cluster: CPU ranks, GPUs with and without published figures, one device alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from small_layers import small_model

from costmodel.spec import (
    Collective,
    CollectiveSample,
    Device,
    DeviceKind,
    LinkKind,
    Precision,
    Source,
    Spread,
)
from profiler.contract import ProfileRequest
from profiler.host import HostMemory
from profiler.kernels import Kernel, KernelCase, KernelRates, kernel_rates
from profiler.links import GpuLinks
from profiler.machine import Machine, cluster
from profiler.rank import DeviceReport

RATES = KernelRates(
    gemm_flop_per_s={Precision.FP32: 50e12, Precision.BF16: 700e12},
    attention_flop_per_s=350e12,
    copy_bytes_per_s=3e12,
    small_copy_s=4e-6,
)
HOST = Machine(HostMemory(total_bytes=1000, used_bytes=200), gpus=(), links=None, threads_per_rank=1)
PUBLISHED = Device(
    name="H100",
    kind=DeviceKind.CUDA,
    peak_flop_per_s={Precision.BF16: 1000e12},
    gemm_efficiency_frac=0.8,
    attention_efficiency_frac=0.4,
    memory_bytes=80,
    mem_bandwidth_bytes_per_s=3.35e12,
    source=Source.ANALYTIC,
    note="data sheet",
)


def request(**changes: Any) -> ProfileRequest:
    values: dict[str, Any] = {
        "hf_config": {},
        "model": small_model(),
        "device": "cpu",
        "num_ranks": 2,
        "micro_batches": (1,),
        "seq_len": 16,
        "precision": Precision.BF16,
        "tp_degrees": (1,),
    }
    return ProfileRequest(**values | changes)


def gpus() -> Machine:
    reports = tuple(
        DeviceReport(name="NVIDIA H100", uuid=f"GPU-{rank}", memory_bytes=80_000, overhead_bytes=overhead)
        for rank, overhead in enumerate((500, 900))
    )
    links = GpuLinks(LinkKind.NVLINK, "NVLink joins all 1 pairs through an NVSwitch", "550.54.15")
    return Machine(HOST.host_memory, reports, links, threads_per_rank=8)


def messages() -> list[CollectiveSample]:
    # A line with 10 microseconds and 1 GB/s.
    return [
        CollectiveSample(
            op=Collective.SEND_RECV,
            num_ranks=2,
            size_bytes=size,
            time=Spread(median_s=time, low_s=time, high_s=time, num_samples=5),
        )
        for size, time in ((1000, 11e-6), (1_000_000, 1010e-6))
    ]


def test_cpu_ranks_share_memory_and_peak_is_what_they_reach() -> None:
    device = cluster(request(), HOST, RATES, messages()).device
    assert (device.memory_bytes, device.memory_reserved_bytes, device.memory_limit_bytes) == (500, 100, 400)
    assert device.peak_flop_per_s == RATES.gemm_flop_per_s
    assert device.gemm_efficiency_frac == 1.0
    assert device.attention_efficiency_frac == 0.5  # 350 of 700 TFLOP/s
    assert device.mem_bandwidth_bytes_per_s == 3e12


def test_the_link_is_fitted_to_the_collectives() -> None:
    (tier,) = cluster(request(), HOST, RATES, messages()).tiers
    assert tier.latency_s == pytest.approx(10e-6)
    assert tier.bandwidth_bytes_per_s == pytest.approx(1e9)
    assert (tier.link, tier.source) == (LinkKind.SHARED_MEMORY, Source.MEASURED)


def test_a_device_alone_has_the_figures_of_its_own_memory() -> None:
    spec = cluster(request(num_ranks=1), HOST, RATES, [])
    (tier,) = spec.tiers
    # A copy reads and writes: 3 TB/s moved are 1.5 TB/s from here to there.
    assert (tier.bandwidth_bytes_per_s, tier.latency_s) == (1.5e12, 4e-6)
    assert "joined to no other" in tier.note
    assert spec.name == "this machine (1 CPU rank)"


def test_a_known_gpu_has_its_published_peak_and_the_measured_share_of_it() -> None:
    spec = cluster(request(device="cuda", published=PUBLISHED), gpus(), RATES, messages())
    assert spec.device.peak_flop_per_s == {Precision.BF16: 1000e12, Precision.FP32: 50e12}
    assert spec.device.gemm_efficiency_frac == 0.7  # 700 of 1000 TFLOP/s
    assert spec.device.attention_efficiency_frac == 0.35
    assert "published (data sheet)" in spec.device.note
    assert spec.tiers[0].link is LinkKind.NVLINK
    # The GPU with the least left to allocate.
    assert spec.device.memory_limit_bytes == 80_000 - 900


def test_an_unknown_gpu_has_the_best_measured_rate_as_its_peak() -> None:
    device = cluster(request(device="cuda"), gpus(), RATES, messages()).device
    assert device.peak_flop_per_s == RATES.gemm_flop_per_s
    assert device.gemm_efficiency_frac == 1.0


def test_kernel_rates_are_of_the_slowest_rank() -> None:
    cases = [
        KernelCase(Kernel.GEMM, Precision.FP32, work=10.0),
        KernelCase(Kernel.GEMM, Precision.FP32, work=40.0),
        KernelCase(Kernel.ATTENTION, Precision.FP32, work=6.0),
        KernelCase(Kernel.COPY, Precision.FP32, work=8.0),
        KernelCase(Kernel.SMALL_COPY, Precision.FP32, work=2.0),
    ]
    # Medians of the ranks: 1, 2, 3, 1, 1 and 2, 2, 2, 4, 1 seconds; the slower of each: 2, 2, 3, 4, 1.
    one = np.array([[1.0, 2, 3, 1, 1], [1, 2, 3, 1, 1], [9, 9, 9, 9, 9]])
    other = np.array([[2.0, 2, 2, 4, 1]] * 3)
    rates = kernel_rates(cases, [one, other])
    # The best of 10 / 2 and 40 / 2; 6 / 3; 8 / 4.
    assert rates == KernelRates({Precision.FP32: 20.0}, 2.0, 2.0, 1.0)
