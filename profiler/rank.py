"""What each rank does: it measures everything together with the other ranks, and returns its rounds.

Layers, collectives, optimizer and kernels take turns in every round. A shared machine's speed wanders over seconds;
what was measured over the same seconds as everything else can be added up to a step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol

import numpy as np
import torch
import torch.distributed as dist

from costmodel.spec.shards import Shards
from profiler.collectives import CollectiveCase, CollectiveTimer, affordable, collective_cases, slowest
from profiler.contract import LayerFactory, ProfileRequest
from profiler.differences import BLOCK
from profiler.dispatch import DispatchTimer
from profiler.kernels import KernelCase, KernelTimer
from profiler.layers import LayerCase, LayerTimer
from profiler.optimizer import OptimizerTimer, parameter_counts
from profiler.rounds import RoundPolicy, Times, run_rounds
from profiler.sharding import ShardingTimer, needed_bytes
from profiler.stopwatch import stopwatch

EXTRA_MEMORY_FRAC = 0.2
"""Share of the memory of a rank that message buffers may take, and again parameters of the optimizer, a split block and
a sharded one."""
COLLECTIVES_FRAC = 0.3
"""Share of the time budget that collectives may take; larger messages are left out where they would take more."""
FEWEST_ROUNDS = 8
"""Rounds that this share must hold."""

Tell = Callable[[tuple[float, str]], None]


class Timer(Protocol):
    """Something with items to time."""

    def visit(self) -> list[float]:
        """Seconds of every item, each done once."""
        ...


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
    dispatch_tp: int | None
    """Ranks over which a block was split; None where none was, or where it would take too much memory."""
    dispatch_times: Times
    sharding_times: Times
    """Empty on a single rank, or where a block would take too much memory."""
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
    tell = tell if dist.get_rank() == 0 else lambda _: None
    device = torch.device("cuda", torch.cuda.current_device()) if request.device == "cuda" else torch.device("cpu")
    if device.type == "cuda":
        memory_bytes = torch.cuda.mem_get_info(device)[0]
    extra_bytes = int(memory_bytes * EXTRA_MEMORY_FRAC)

    layer_timer = LayerTimer(request, layers, device, stopwatch(device))
    kernels = KernelTimer(request, device)
    timers: dict[str, Timer] = {"layers forward and backward": layer_timer, "matrix multiplication and copies": kernels}
    largest_bytes = min(4 * request.model.params_total, extra_bytes // 2)
    cases = collective_cases(dist.get_world_size(), largest_bytes)
    if cases:
        tell((0.0, "trying collectives"))
        cases = _affordable(cases, COLLECTIVES_FRAC * request.budget_s / FEWEST_ROUNDS, device)
        timers["collectives"] = CollectiveTimer(cases, device)
    counts = parameter_counts(request.model, extra_bytes)
    timers["optimizer steps"] = OptimizerTimer(counts, request.model.hidden, device)

    block = request.model.layers[BLOCK]
    splits = [
        tp for tp in request.tp_degrees if tp > 1 and needed_bytes(block.num_params(Shards(tp=tp))) <= extra_bytes
    ]
    dispatch_tp = min(splits, default=None)
    if dispatch_tp is not None:
        timers["dispatch of sharded tensors"] = DispatchTimer(request, layers, dispatch_tp, device)
    if dist.get_world_size() > 1 and needed_bytes(block.num_params()) <= extra_bytes:
        timers["copies around sharded weights"] = ShardingTimer(request, layers, device)

    times = dict(zip(timers, _take_turns(timers, request.budget_s, device, tell), strict=True))
    return RankReport(
        kernel_cases=kernels.cases,
        kernel_times=times["matrix multiplication and copies"],
        layer_cases=layer_timer.cases,
        saved_bytes=layer_timer.saved_bytes,
        layer_times=times["layers forward and backward"],
        collective_cases=cases,
        collective_times=times.get("collectives", np.empty((0, 0))),
        param_counts=counts,
        optimizer_times=times["optimizer steps"],
        dispatch_tp=dispatch_tp,
        dispatch_times=times.get("dispatch of sharded tensors", np.empty((0, 0))),
        sharding_times=times.get("copies around sharded weights", np.empty((0, 0))),
        device=_describe(device) if device.type == "cuda" else None,
        num_threads=torch.get_num_threads(),
        backend=dist.get_backend(),
    )


def _affordable(cases: list[CollectiveCase], per_round_s: float, device: torch.device) -> list[CollectiveCase]:
    """The cases that take at most `per_round_s` together, after a first try of all."""
    timer = CollectiveTimer(cases, device)
    timer.visit()
    return affordable(cases, slowest(timer.visit(), device), per_round_s)


def _take_turns(timers: dict[str, Timer], budget_s: float, device: torch.device, tell: Tell) -> list[Times]:
    """Rounds in which every timer has its turn, in step with the other ranks: seconds (rounds, items) per timer."""
    done_frac = 0.0
    num_items: list[int] = []

    def visit() -> Sequence[float]:
        rows = []
        for what, timer in timers.items():
            tell((done_frac, what))
            dist.barrier()
            rows.append(timer.visit())
        num_items[:] = map(len, rows)
        return [time for row in rows for time in row]

    def on_progress(frac: float) -> None:
        nonlocal done_frac
        done_frac = frac

    times = run_rounds(
        visit, RoundPolicy(budget_s), agree=lambda value: slowest([value], device)[0], on_progress=on_progress
    )
    return np.split(times, list(accumulate(num_items))[:-1], axis=1)


def _describe(device: torch.device) -> DeviceReport:
    properties = torch.cuda.get_device_properties(device)
    free_bytes, total_bytes = torch.cuda.mem_get_info(device)
    return DeviceReport(
        name=properties.name,
        uuid=f"GPU-{properties.uuid}",
        memory_bytes=total_bytes,
        overhead_bytes=max(0, total_bytes - free_bytes - torch.cuda.memory_reserved(device)),
    )
