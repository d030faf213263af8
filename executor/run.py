"""Trains by a plan and says what happened: `run(plan_file, ...) -> Measurement`.

Starts its own ranks on this computer, or joins those that torchrun or Slurm has started.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.distributed as dist

from costmodel.errors import RunFailedError
from costmodel.spec import Measurement, PlanFile, Provenance
from executor.check import check_runnable
from executor.cores import num_cores
from executor.device import choose_device
from executor.launcher import Launcher, check_world_size, current_launcher
from executor.memory import PeakMemory, return_freed_memory
from executor.models import HFCausalLM
from executor.options import DEFAULT_LR, check_numbers
from executor.parallel.mesh import RankMesh, build_mesh
from executor.process_group import joined_ranks, refusal_of_rank_0
from executor.provenance import provenance_of_rank
from executor.ranks import run_ranks, send_to_parent
from executor.text import ByteText
from executor.trainer import Trainer
from executor.warm_up import warm_up

OnStep = Callable[[int, float, float], None]
MAX_WARMUP_STEPS = 3
STEPS_TO_PEAK = 2
"""The first step makes the optimizer's state; the second has it from its start, and peaks as every later one."""


@dataclass(frozen=True)
class Job:
    """What every rank is told."""

    plan_file: PlanFile
    text: ByteText
    steps: int
    seed: int
    lr: float
    device_type: str


@dataclass(frozen=True)
class Record:
    """What a rank saw."""

    losses: list[float]
    step_times_s: list[float]
    peak_memory_bytes: list[int]
    """One per rank."""
    memory_counter: str
    provenance: Provenance


def run(
    plan_file: PlanFile,
    *,
    data: Path,
    steps: int,
    seed: int = 0,
    lr: float = DEFAULT_LR,
    device: str = "auto",
    check_output: Callable[[], None] | None = None,
    on_step: OnStep | None = None,
    notify: Callable[[str], None] | None = None,
) -> Measurement | None:
    """Train `steps` steps on the text at `data` and return the measurement.

    `device` is `auto`, `cpu` or `cuda`. `check_output` is called before the training by the process that will get the
    measurement; the PlannerError that it raises ends the run on every rank. `on_step(step, loss, step_time_s)` is
    called after each step, counted from 0, and `notify` with sentences the user should see. Where another launcher
    started the ranks, every rank calls this; rank 0 gets the measurement and the others None.

    Raises BadInputError for a plan, number, text or launcher that do not fit, MissingError for a device that is not
    here, RunFailedError where a rank failed or the loss stopped being finite.
    """
    check_numbers(steps, seed, lr)
    launcher = current_launcher()
    if launcher is not None:
        check_world_size(launcher, plan_file.plan.num_ranks)
    check_runnable(plan_file, HFCausalLM(plan_file.hf_config))
    text = ByteText(data, plan_file.workload.seq_len)
    job = Job(plan_file, text, steps, seed, lr, choose_device(device).type)
    if launcher is None:
        if check_output is not None:
            check_output()
        record = _start_ranks(job, on_step, notify)
    else:
        record = _join_ranks(job, launcher, check_output, on_step)
        if launcher.rank != 0:
            return None
    return _measurement(job, record)


def _start_ranks(job: Job, on_step: OnStep | None, notify: Callable[[str], None] | None) -> Record:
    num_ranks = job.plan_file.plan.num_ranks
    if job.device_type == "cpu" and num_ranks > num_cores() and notify is not None:
        notify(f"{num_ranks} CPU ranks share {num_cores()} cores; step times will be longer than with one core each")
    # On the CPU whatever the device: a process that has used CUDA cannot fork.
    warm_up(torch.device("cpu"))

    def on_message(rank: int, message: tuple[int, float, float]) -> None:
        if rank == 0 and on_step is not None:
            on_step(*message)

    records = run_ranks(_train_and_send, num_ranks, job, timeout_s=None, device=job.device_type, on_message=on_message)
    return records[0]


def _join_ranks(
    job: Job, launcher: Launcher, check_output: Callable[[], None] | None, on_step: OnStep | None
) -> Record:
    with joined_ranks(launcher, job.device_type):
        refusal = refusal_of_rank_0(check_output)
        if refusal is None:
            return train(job, on_step if launcher.rank == 0 else None)
    # Outside, so that all ranks have left their group before one of them ends.
    raise refusal


def _train_and_send(job: Job) -> Record:
    return train(job, lambda *step: send_to_parent(step))


def train(job: Job, on_step: OnStep | None) -> Record:
    """One rank's whole run, inside a process group of the plan's size."""
    plan, workload = job.plan_file.plan, job.plan_file.workload
    device = torch.device("cuda", torch.cuda.current_device()) if job.device_type == "cuda" else torch.device("cpu")
    return_freed_memory()
    warm_up(device)
    mesh = build_mesh(plan, device)
    _warm_up_communication(mesh)
    memory = PeakMemory(device)
    trainer = Trainer(HFCausalLM(job.plan_file.hf_config), plan, workload, mesh, seed=job.seed, lr=job.lr)
    losses, step_times_s = [], []
    for step in range(job.steps):
        if step == _num_warmup_steps(job.steps) and step >= STEPS_TO_PEAK:
            memory.stop()
        batch = job.text.batch(job.seed, step, workload.global_batch)
        tokens = batch.chunk(plan.dp)[mesh.index("dp")].to(device)
        start = time.perf_counter()
        loss = trainer.step(tokens)
        _finish(device)
        loss_value, step_time_s = _agree(mesh, loss, time.perf_counter() - start)
        if not math.isfinite(loss_value):
            raise RunFailedError(
                f"the loss became {loss_value} in step {step} (counted from 0); use a smaller --lr than {job.lr:g}"
            )
        losses.append(loss_value)
        step_times_s.append(step_time_s)
        if on_step is not None:
            on_step(step, loss_value, step_time_s)
    peaks: list[int] = [0] * plan.num_ranks
    dist.all_gather_object(peaks, memory.peak_bytes())
    return Record(losses, step_times_s, peaks, memory.counter, provenance_of_rank(device))


def _finish(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _warm_up_communication(mesh: RankMesh) -> None:
    """Connect the ranks of every group, so that the first step does not, and buffers are there before memory counts."""
    for axis in ("tp", "dp", "pp"):
        dist.all_reduce(torch.zeros(1, device=mesh.device), group=mesh.group(axis))
    dist.barrier()


def _agree(mesh: RankMesh, loss: torch.Tensor | None, step_time_s: float) -> tuple[float, float]:
    """The loss over the global batch and the time of the slowest rank, on every rank."""
    slowest = torch.tensor(step_time_s, dtype=torch.float64, device=mesh.device)
    dist.all_reduce(slowest, dist.ReduceOp.MAX)
    # Added up over the ranks that have it: dp parts, each on tp ranks. A sum keeps a NaN, which a maximum may drop.
    mean = torch.zeros((), dtype=torch.float64, device=mesh.device)
    if loss is not None:
        mean += loss.double() / (mesh.size("dp") * mesh.size("tp"))
    dist.all_reduce(mean)
    return float(mean), float(slowest)


def _num_warmup_steps(steps: int) -> int:
    return min(MAX_WARMUP_STEPS, steps // 2)


def _measurement(job: Job, record: Record) -> Measurement:
    plan_file = job.plan_file
    num_warmup_steps = _num_warmup_steps(job.steps)
    prediction = plan_file.prediction
    return Measurement(
        plan_id=plan_file.plan.plan_id,
        question_id=plan_file.question_id,
        seed=job.seed,
        losses=tuple(record.losses),
        step_times_s=tuple(record.step_times_s),
        num_warmup_steps=num_warmup_steps,
        step_time_median_s=statistics.median(record.step_times_s[num_warmup_steps:]),
        peak_memory_bytes=tuple(record.peak_memory_bytes),
        memory_counter=record.memory_counter,
        predicted_step_time_s=prediction.step_time_s,
        predicted_step_time_low_s=prediction.step_time_low_s,
        predicted_step_time_high_s=prediction.step_time_high_s,
        predicted_peak_memory_bytes=prediction.peak_memory_bytes,
        provenance=record.provenance,
    )
