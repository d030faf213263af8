"""Sets up torch's default process group: gloo between CPU ranks, nccl between CUDA ranks."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import Store

from costmodel.errors import PlannerError
from executor.cores import threads_per_rank
from executor.device import check_enough_devices
from executor.failures import failures_of
from executor.launcher import Launcher

DEFAULT_TIMEOUT_S = 600.0
"""How long a rank waits for the others in one collective."""


def init_process_group(
    store: Store | None, rank: int, local_rank: int, num_ranks: int, device: str, timeout_s: float
) -> None:
    """Join the default group through `store`, or by the environment variables of a launcher where that is None."""
    timeout = timedelta(seconds=timeout_s)
    if device == "cuda":
        torch.cuda.set_device(local_rank)
        dist.init_process_group(
            "nccl",
            store=store,
            rank=rank,
            world_size=num_ranks,
            timeout=timeout,
            device_id=torch.device("cuda", local_rank),
        )
    else:
        dist.init_process_group("gloo", store=store, rank=rank, world_size=num_ranks, timeout=timeout)


@contextmanager
def joined_ranks(launcher: Launcher, device: str) -> Iterator[None]:
    """The default group of the ranks that `launcher` started, of which this process is one.

    Raises RankFailedError where memory ran out or another rank was lost. The group is left only after success: on the
    way out of a failure this rank would wait for peers that may be gone.
    """
    check_enough_devices(launcher.local_world_size, torch.device(device))
    os.environ.update(launcher.environment())
    torch.set_num_threads(threads_per_rank(launcher.local_world_size))
    with failures_of(f"rank {launcher.rank} of {launcher.world_size}"):
        init_process_group(None, launcher.rank, launcher.local_rank, launcher.world_size, device, DEFAULT_TIMEOUT_S)
        yield
        dist.destroy_process_group()


def refusal_of_rank_0(check: Callable[[], None] | None) -> PlannerError | None:
    """Calls `check` on rank 0 alone; returns, on every rank, the PlannerError that it raised there.

    What only rank 0 can see, every rank must hear of after they have met: a rank 0 that just left would let the others
    wait for it.
    """
    refusal: list[PlannerError | None] = [None]
    if check is not None and dist.get_rank() == 0:
        try:
            check()
        except PlannerError as error:
            refusal = [error]
    dist.broadcast_object_list(refusal, src=0)
    return refusal[0]


def loopback_interface() -> str:
    """Name of the interface over which ranks of one computer meet."""
    return next((name for _, name in socket.if_nameindex() if name in {"lo", "lo0"}), "lo")
