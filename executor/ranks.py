"""Starts ranks on this computer and runs a function on all of them.

Workers are forked, so they inherit the parent's import of torch: two ranks with a process group stand in a few
hundredths of a second, where fresh interpreters need seconds. `run_ranks` starts ranks for one call; `RankGroup`
keeps them, with their process group, for many calls, which is what tests want.

Each worker has RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT set and a default process
group (gloo on CPU, nccl on CUDA) that meets over the loopback interface. The parent holds one pipe to each worker. A
worker that raises or dies ends the group: the parent kills the others and raises. Workers also die with the parent.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import multiprocessing.connection
import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from datetime import timedelta
from types import TracebackType
from typing import Any, NoReturn, Self, TypeVar

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import TCPStore

from costmodel.errors import BadInputError, MissingError, PlannerError, RunFailedError

T = TypeVar("T")

LOCALHOST = "127.0.0.1"
DEFAULT_TIMEOUT_S = 600.0
_FAILURE_GRACE_S = 0.2
"""How long the parent listens on after a first failure: when a rank dies, its peers fail too, and may report first."""

_RESULT, _MESSAGE, _FAILURE = "result", "message", "failure"
_parent: multiprocessing.connection.Connection | None = None
"""In a worker, the pipe to the parent."""


def run_ranks(
    fn: Callable[..., T],
    num_ranks: int,
    *args: Any,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    device: str = "cpu",
    on_message: Callable[[int, Any], None] | None = None,
) -> list[T]:
    """Run `fn(*args)` on `num_ranks` ranks of this computer; returns their results in rank order.

    `fn` and `args` are inherited by the fork, so they may be anything, closures included; results must pickle.
    `device` is `cpu` or `cuda` (one GPU a rank). `on_message(rank, value)` is called in the parent for each
    `send_to_parent(value)` of a rank, while the ranks run.

    Raises the PlannerError that a rank raised; RunFailedError where a rank raised anything else, died, or where
    `timeout_s` passed; BadInputError where there are fewer GPUs than ranks.
    """
    with RankGroup(num_ranks, device=device, timeout_s=timeout_s, first_call=(fn, args)) as ranks:
        return ranks.results(timeout_s, on_message)


def send_to_parent(value: Any) -> None:
    """Called on a worker: hand `value` to the parent's `on_message` at once. Does nothing outside a worker."""
    if _parent is not None:
        _parent.send((_MESSAGE, value))


def num_cores() -> int:
    """CPU cores that this process may use."""
    return len(os.sched_getaffinity(0))


def threads_per_rank(num_local_ranks: int) -> int:
    """Threads for each rank, so that the ranks of one computer share its cores."""
    return max(1, num_cores() // num_local_ranks)


class RankGroup:
    """Forked workers with one process group that serve calls until the group is closed.

    A context manager. After a failure the group is closed, and a later call raises RunFailedError.
    """

    def __init__(
        self,
        num_ranks: int,
        *,
        device: str = "cpu",
        timeout_s: float = DEFAULT_TIMEOUT_S,
        first_call: tuple[Callable[..., Any], tuple[Any, ...]] | None = None,
    ) -> None:
        _check_can_fork(num_ranks, device)
        self.num_ranks = num_ranks
        context = multiprocessing.get_context("fork")
        pipes = [context.Pipe() for _ in range(num_ranks)]
        self._pipes = [parent for parent, _ in pipes]
        self._workers = []
        # A socket that already listens leaves no moment in which another program can take the port.
        with socket.create_server((LOCALHOST, 0), backlog=2 * num_ranks + 8) as listener:
            for rank in range(num_ranks):
                worker = context.Process(
                    target=_work, args=(rank, pipes, listener, device, timeout_s, first_call), daemon=True
                )
                worker.start()
                self._workers.append(worker)
        for _, child in pipes:
            child.close()

    def call(
        self,
        fn: Callable[..., T],
        *args: Any,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        on_message: Callable[[int, Any], None] | None = None,
    ) -> list[T]:
        """Run `fn(*args)` on every rank, in the processes that are already there; as `run_ranks` otherwise.

        `fn` and `args` travel through a pipe: `fn` must be a function of a module, `args` must pickle.
        """
        if not self._workers:
            raise RunFailedError("the ranks have ended, so they cannot take another call; start a new group")
        for pipe in self._pipes:
            pipe.send((fn, args))
        return self.results(timeout_s, on_message)

    def results(self, timeout_s: float, on_message: Callable[[int, Any], None] | None = None) -> list[Any]:
        """Wait for the result of every rank; kills all workers unless every rank returns."""
        try:
            return self._collect(time.monotonic() + timeout_s, timeout_s, on_message)
        except BaseException:
            self._kill()
            raise

    def close(self) -> None:
        """End the workers; they leave their process group first."""
        for pipe in self._pipes:
            pipe.close()
        for worker in self._workers:
            worker.join()
        self._pipes, self._workers = [], []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def _collect(self, deadline: float, timeout_s: float, on_message: Callable[[int, Any], None] | None) -> list[Any]:
        results: dict[int, Any] = {}
        failures: dict[int, BaseException] = {}
        waiting = dict(enumerate(self._pipes))
        while waiting:
            ready = multiprocessing.connection.wait(list(waiting.values()), max(0.0, deadline - time.monotonic()))
            if not ready and failures:
                break
            if not ready:
                silent = ", ".join(map(str, waiting))
                raise RunFailedError(f"rank {silent} of {self.num_ranks} did not finish within {timeout_s:g} s")
            for rank in [rank for rank, pipe in waiting.items() if pipe in ready]:
                kind, value = self._receive(rank)
                if kind == _MESSAGE:
                    if on_message is not None:
                        on_message(rank, value)
                    continue
                del waiting[rank]
                if kind == _RESULT:
                    results[rank] = value
                elif failures:
                    failures[rank] = value
                else:
                    failures[rank] = value
                    deadline = time.monotonic() + _FAILURE_GRACE_S
        if failures:
            raise min(failures.values(), key=_blame)
        return [results[rank] for rank in range(self.num_ranks)]

    def _receive(self, rank: int) -> tuple[str, Any]:
        """The next thing a rank says; a closed pipe means that it died."""
        try:
            kind, value = self._pipes[rank].recv()
        except (EOFError, ConnectionResetError):
            self._workers[rank].join()
            return _FAILURE, _DiedError(
                f"rank {rank} of {self.num_ranks} {_how_it_ended(self._workers[rank].exitcode)}"
            )
        return kind, value

    def _kill(self) -> None:
        for worker in self._workers:
            worker.kill()
        self.close()


class _DiedError(RunFailedError):
    """A worker that ended without a word."""


class _LostPeerError(RunFailedError):
    """A worker whose communication failed; most often because another one ended."""


def _blame(failure: BaseException) -> int:
    """Order of failures from cause to consequence."""
    if isinstance(failure, _DiedError):
        return 0
    return 2 if isinstance(failure, _LostPeerError) else 1


def _how_it_ended(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        hint = "; the system may have run out of memory" if -exit_code == signal.SIGKILL else ""
        return f"was killed by {signal.Signals(-exit_code).name}{hint}"
    return f"ended with exit code {exit_code} before it had a result"


def _check_can_fork(num_ranks: int, device: str) -> None:
    if num_ranks < 1:
        raise BadInputError(f"num_ranks is {num_ranks}; at least 1 rank is needed")
    if device == "cuda":
        if torch.cuda.device_count() == 0:
            raise MissingError("device is cuda, but there is no CUDA device here; use --device cpu")
        if num_ranks > torch.cuda.device_count():
            raise BadInputError(
                f"{num_ranks} CUDA ranks are asked for, but there are {torch.cuda.device_count()} CUDA devices here: "
                f"use at most {torch.cuda.device_count()} ranks, or --device cpu"
            )
    elif device != "cpu":
        raise BadInputError(f"device is {device!r}; it must be cpu or cuda")
    if torch.cuda.is_initialized():
        raise RunFailedError("ranks cannot be started from a process that has already used CUDA; start them first")


def _work(
    rank: int,
    pipes: list[tuple[multiprocessing.connection.Connection, multiprocessing.connection.Connection]],
    listener: socket.socket,
    device: str,
    timeout_s: float,
    first_call: tuple[Callable[..., Any], tuple[Any, ...]] | None,
) -> None:
    """Life of a worker: join the process group, serve calls until the parent closes the pipe, leave."""
    num_ranks = len(pipes)
    # Before anything else: the parent's OpenMP threads do not exist here, and the first parallel region would hang.
    torch.set_num_threads(threads_per_rank(num_ranks))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _die_with_parent()
    pipe = pipes[rank][1]
    for index, (parent, child) in enumerate(pipes):
        parent.close()
        if index != rank:
            child.close()
    global _parent
    _parent = pipe
    with _Report(rank, num_ranks, pipe):
        _join_process_group(rank, num_ranks, listener, device, timeout_s)
        call = first_call or _next_call(pipe)
        while call is not None:
            fn, args = call
            pipe.send((_RESULT, fn(*args)))
            call = _next_call(pipe)
        dist.destroy_process_group()
    _leave(0)


def _next_call(pipe: multiprocessing.connection.Connection) -> tuple[Callable[..., Any], tuple[Any, ...]] | None:
    """The parent's next call; None once it has closed the pipe. No rank leaves while another still works."""
    try:
        call: tuple[Callable[..., Any], tuple[Any, ...]] = pipe.recv()
    except EOFError:
        return None
    return call


def _join_process_group(rank: int, num_ranks: int, listener: socket.socket, device: str, timeout_s: float) -> None:
    port = listener.getsockname()[1]
    os.environ.update(
        RANK=str(rank),
        WORLD_SIZE=str(num_ranks),
        LOCAL_RANK=str(rank),
        LOCAL_WORLD_SIZE=str(num_ranks),
        MASTER_ADDR=LOCALHOST,
        MASTER_PORT=str(port),
        GLOO_SOCKET_IFNAME=_loopback_interface(),
    )
    timeout = timedelta(seconds=timeout_s)
    if rank == 0:
        store = TCPStore(
            LOCALHOST,
            port,
            num_ranks,
            is_master=True,
            timeout=timeout,
            master_listen_fd=listener.detach(),
            wait_for_workers=False,
        )
    else:
        listener.close()
        store = TCPStore(LOCALHOST, port, num_ranks, is_master=False, timeout=timeout)
    if device == "cuda":
        torch.cuda.set_device(rank)
        dist.init_process_group(
            "nccl", store=store, rank=rank, world_size=num_ranks, timeout=timeout, device_id=torch.device("cuda", rank)
        )
    else:
        dist.init_process_group("gloo", store=store, rank=rank, world_size=num_ranks, timeout=timeout)


def _loopback_interface() -> str:
    return next((name for _, name in socket.if_nameindex() if name in {"lo", "lo0"}), "lo")


def _die_with_parent() -> None:
    """Ask Linux to kill this process when its parent ends, so that no rank outlives a killed run."""
    pr_set_pdeathsig = 1
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


class _Report:
    """Tells the parent of whatever is raised inside, and ends the worker."""

    def __init__(self, rank: int, num_ranks: int, pipe: multiprocessing.connection.Connection) -> None:
        self._who = f"rank {rank} of {num_ranks}"
        self._pipe = pipe

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if error is None:
            return
        self._pipe.send((_FAILURE, self._for_parent(error)))
        _leave(1)

    def _for_parent(self, error: BaseException) -> PlannerError:
        if isinstance(error, PlannerError):
            return error
        sentence = f"{self._who} failed: {type(error).__name__}: {_first_line(error)}"
        if isinstance(error, torch.OutOfMemoryError | MemoryError):
            return RunFailedError(f"{self._who} ran out of memory: {_first_line(error)}")
        if isinstance(error, dist.DistError) or _is_lost_connection(error):
            return _LostPeerError(sentence)
        return RunFailedError(f"{sentence}\n{''.join(traceback.format_exception(error))}")


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), "no reason given")


def _is_lost_connection(error: BaseException) -> bool:
    """Whether gloo lost a peer; it raises a plain RuntimeError that begins with its source file."""
    text = str(error)
    return isinstance(error, RuntimeError) and ("gloo/transport" in text or "Connection closed by peer" in text)


def _leave(exit_code: int) -> NoReturn:
    """End without the interpreter's teardown, which after a fork would run the parent's exit handlers."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(exit_code)
