"""What each rank does: it measures everything together with the other ranks, and returns its rounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.distributed as dist

from profiler.collectives import CollectiveCase, CollectiveTimer, affordable, collective_cases, slowest
from profiler.contract import LayerFactory, ProfileRequest
from profiler.kernels import KernelCase, KernelTimer
from profiler.layers import LayerCase, LayerTimer
from profiler.optimizer import OptimizerTimer, parameter_counts
from profiler.rounds import RoundPolicy, Times, run_rounds
from profiler.stopwatch import stopwatch

SHARES = {"kernels": 0.1, "layers": 0.5, "collectives": 0.3, "optimizer": 0.1}
"""Shares of the time budget, in the order of measuring. A single rank spends that of the collectives on its layers."""
EXTRA_MEMORY_FRAC = 0.2
"""Share of the memory of a rank that message buffers, or parameters of the optimizer, may take."""
COLLECTIVE_ROUNDS = 8
"""Rounds that the budget of the collectives must hold; larger messages are left out where it does not."""

Tell = Callable[[tuple[float, str]], None]


@dataclass(frozen=True)
class DeviceReport:
    """The CUDA device of a rank as its driver describes it."""

    name: str
    uuid: str
    """As NVML writes it: `GPU-...`."""
    memory_bytes: int
    overhead_bytes: int
    """Taken, but not by tensors of this program: context, communication library, other programs."""


@dataclass(frozen=True)
class RankReport:
    """What one rank measured; each array of times has the shape (rounds, items)."""

    kernel_cases: list[KernelCase]
    kernel_times: Times
    layer_cases: list[LayerCase]
    saved_bytes: list[int]
    layer_times: Times
    collective_cases: list[CollectiveCase]
    collective_times: Times
    param_counts: list[int]
    optimizer_times: Times
    device: DeviceReport | None
    """None on CPU."""
    num_threads: int
    backend: str


def measure_rank(
    request: ProfileRequest, layers: LayerFactory, memory_bytes: int, prepare: Callable[[], None], tell: Tell
) -> RankReport:
    """Measure everything on this rank of the default process group; all ranks call it at the same moment.

    `memory_bytes` is what this rank may use of the host's memory; on CUDA the device's own memory counts.
    `prepare` is called first. `tell` hears (share done, what is done now) from rank 0.
    """
    prepare()
    device = torch.device("cuda", torch.cuda.current_device()) if request.device == "cuda" else torch.device("cpu")
    if device.type == "cuda":
        memory_bytes = torch.cuda.mem_get_info(device)[0]
    bench = _Bench(request.budget_s, device, tell)
    extra_bytes = int(memory_bytes * EXTRA_MEMORY_FRAC)

    kernels = KernelTimer(request, device)
    kernel_times = bench.rounds("kernels", "matrix multiplication and copies", kernels.visit)
    kernel_cases = kernels.cases
    del kernels

    timer = LayerTimer(request, layers, device, stopwatch(device))
    layer_times = bench.rounds("layers", "layers forward and backward", timer.visit)
    layer_cases, saved_bytes = timer.cases, timer.saved_bytes
    del timer

    cases = collective_cases(dist.get_world_size(), min(4 * request.model.params_total, extra_bytes // 2))
    cases, collective_times = bench.collectives(cases)

    counts = parameter_counts(request.model, extra_bytes)
    optimizer = OptimizerTimer(counts, request.model.hidden, device)
    optimizer_times = bench.rounds("optimizer", "optimizer steps", optimizer.visit)
    return RankReport(
        kernel_cases=kernel_cases,
        kernel_times=kernel_times,
        layer_cases=layer_cases,
        saved_bytes=saved_bytes,
        layer_times=layer_times,
        collective_cases=cases,
        collective_times=collective_times,
        param_counts=counts,
        optimizer_times=optimizer_times,
        device=_describe(device) if device.type == "cuda" else None,
        num_threads=torch.get_num_threads(),
        backend=dist.get_backend(),
    )


class _Bench:
    """Runs rounds in step with the other ranks, each kind within its share of the budget."""

    def __init__(self, budget_s: float, device: torch.device, tell: Tell) -> None:
        self._shares = dict(SHARES)
        if dist.get_world_size() == 1:
            self._shares["layers"] += self._shares.pop("collectives")
        self._budget_s = budget_s
        self._device = device
        self._tell = tell if dist.get_rank() == 0 else lambda _: None

    def rounds(self, kind: str, what: str, visit: Callable[[], Sequence[float]]) -> Times:
        """Rounds of `visit`; a barrier makes the ranks begin each round together."""

        def visit_together() -> Sequence[float]:
            dist.barrier()
            return visit()

        share, before = self._shares[kind], self._share_before(kind)
        return run_rounds(
            visit_together,
            RoundPolicy(share * self._budget_s),
            agree=self._largest,
            on_progress=lambda frac: self._tell((before + share * frac, what)),
        )

    def collectives(self, cases: list[CollectiveCase]) -> tuple[list[CollectiveCase], Times]:
        """The cases that the budget allows, and their rounds."""
        if not cases:
            return [], np.empty((0, 0))
        self._tell((self._share_before("collectives"), "collectives"))
        first = CollectiveTimer(cases, self._device)
        first.visit()
        times = slowest(first.visit(), self._device)
        per_round_s = self._shares["collectives"] * self._budget_s / COLLECTIVE_ROUNDS
        cases = affordable(cases, times, per_round_s)
        del first
        timer = CollectiveTimer(cases, self._device)
        return cases, self.rounds("collectives", "collectives", timer.visit)

    def _share_before(self, kind: str) -> float:
        kinds = list(self._shares)
        return sum(self._shares[earlier] for earlier in kinds[: kinds.index(kind)])

    def _largest(self, value: float) -> float:
        return slowest([value], self._device)[0]


def _describe(device: torch.device) -> DeviceReport:
    properties = torch.cuda.get_device_properties(device)
    free_bytes, total_bytes = torch.cuda.mem_get_info(device)
    return DeviceReport(
        name=properties.name,
        uuid=f"GPU-{properties.uuid}",
        memory_bytes=total_bytes,
        overhead_bytes=max(0, total_bytes - free_bytes - torch.cuda.memory_reserved(device)),
    )
