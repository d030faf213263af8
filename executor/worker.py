"""The life of a forked rank: join the process group, serve the parent's calls, report, leave."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from datetime import timedelta
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, NoReturn

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import TCPStore

from costmodel.errors import PlannerError
from executor.cores import threads_per_rank
from executor.failures import RankDefectError, describe, expected_failure, root_cause
from executor.process_group import init_process_group, loopback_interface

LOCALHOST = "127.0.0.1"
RESULT, MESSAGE, FAILURE = "result", "message", "failure"
"""What a worker tells its parent, each with a value: of a finished call, of a running one, an error."""

Call = tuple[Callable[..., Any], tuple[Any, ...]]
_parent: Connection | None = None
"""In a worker, the pipe to the parent."""


def send_to_parent(value: Any) -> None:
    """Called on a worker: hand `value` to the parent's `on_message` at once. Does nothing outside a worker."""
    if _parent is not None:
        _parent.send((MESSAGE, value))


def work(
    rank: int,
    pipes: list[tuple[Connection, Connection]],
    listener: socket.socket,
    device: str,
    timeout_s: float,
    first_call: Call | None,
) -> None:
    """Body of a worker process; `pipes` holds the parent's and the worker's end for each rank. Does not return."""
    num_ranks = len(pipes)
    torch.set_num_threads(threads_per_rank(num_ranks))
    # The parent decides what Ctrl-C ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _die_with_parent()
    pipe = pipes[rank][1]
    for index, (parent, worker) in enumerate(pipes):
        parent.close()
        if index != rank:
            worker.close()
    global _parent
    _parent = pipe
    with _Report(f"rank {rank} of {num_ranks}", pipe):
        _join(rank, num_ranks, listener, device, timeout_s)
        call = first_call or _next_call(pipe)
        while call is not None:
            fn, args = call
            pipe.send((RESULT, fn(*args)))
            call = _next_call(pipe)
        dist.destroy_process_group()
    _leave(0)


def _next_call(pipe: Connection) -> Call | None:
    """The parent's next call; None when it ends the group. No rank leaves while another still works."""
    call: Call | None = pipe.recv()
    return call


def _join(rank: int, num_ranks: int, listener: socket.socket, device: str, timeout_s: float) -> None:
    port = listener.getsockname()[1]
    os.environ.update(
        RANK=str(rank),
        WORLD_SIZE=str(num_ranks),
        LOCAL_RANK=str(rank),
        LOCAL_WORLD_SIZE=str(num_ranks),
        MASTER_ADDR=LOCALHOST,
        MASTER_PORT=str(port),
        GLOO_SOCKET_IFNAME=loopback_interface(),
    )
    # Rank 0 serves the store on the socket that already listens; the others only needed to know its port.
    socket_fd = listener.detach()
    if rank != 0:
        os.close(socket_fd)
    store = TCPStore(
        LOCALHOST,
        port,
        num_ranks,
        is_master=rank == 0,
        timeout=timedelta(seconds=timeout_s),
        wait_for_workers=False,
        master_listen_fd=socket_fd if rank == 0 else None,
    )
    init_process_group(store, rank, rank, num_ranks, device, timeout_s)


def _die_with_parent() -> None:
    """Ask Linux to kill this process when its parent ends, so that no rank outlives a killed run."""
    pr_set_pdeathsig = 1
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


class _Report:
    """Tells the parent of whatever is raised inside, and ends the worker."""

    def __init__(self, who: str, pipe: Connection) -> None:
        self._who = who
        self._pipe = pipe

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if error is not None:
            self._pipe.send((FAILURE, self._for_parent(error)))
            _leave(1)

    def _for_parent(self, error: BaseException) -> PlannerError | RankDefectError:
        failure = expected_failure(error, self._who)
        if failure is not None:
            return failure
        sentence = f"{self._who} failed: {describe(root_cause(error))}"
        return RankDefectError(f"{sentence}\n{''.join(traceback.format_exception(error))}")


def _leave(exit_code: int) -> NoReturn:
    """End without the interpreter's teardown, which after a fork would run the parent's exit handlers."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(exit_code)
