"""Starts ranks on this computer and runs a function on all of them.

Workers are forked, so they inherit the parent's imports: two ranks with a process group stand in a tenth of a second,
where fresh interpreters need several. `run_ranks` starts ranks for one call; `RankGroup` keeps them, with their
process group and torch's caches, for many calls, which is what tests want.

Each worker has RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT set and a default process
group (gloo on CPU, nccl on CUDA) that meets over the loopback interface. The parent holds one pipe to each worker. A
worker that raises or dies ends the group: the parent kills the others and raises. Workers also die with the parent.
"""

from __future__ import annotations

import errno
import multiprocessing
import signal
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from types import TracebackType
from typing import Any, Self, TypeVar

import torch

from costmodel.errors import BadInputError, PlannerError, RunFailedError
from executor.cores import end_openmp_threads
from executor.device import check_enough_devices, choose_device
from executor.failures import LostPeerError, RankFailedError
from executor.process_group import DEFAULT_TIMEOUT_S
from executor.worker import FAILURE, LOCALHOST, MESSAGE, RESULT, Call, send_to_parent, work

__all__ = ["RankGroup", "run_ranks", "send_to_parent"]

T = TypeVar("T")
OnMessage = Callable[[int, Any], None]

_REMEDIES = {
    errno.EMFILE: "use fewer ranks or raise `ulimit -n`",
    errno.EAGAIN: "use fewer ranks or raise `ulimit -u`",
    errno.ENOMEM: "use fewer ranks or free memory",
    errno.EADDRNOTAVAIL: "bring the loopback interface up",
}
"""What a user can do about a system that refuses pipes, the socket or processes."""
_FAILURE_GRACE_S = 0.2
"""How long the parent listens on after a first failure: when a rank dies, its peers fail too, and may report first."""


def run_ranks(
    fn: Callable[..., T],
    num_ranks: int,
    *args: Any,
    timeout_s: float | None = DEFAULT_TIMEOUT_S,
    device: str = "cpu",
    on_message: OnMessage | None = None,
) -> list[T]:
    """Run `fn(*args)` on `num_ranks` ranks of this computer; returns their results in rank order.

    `fn` and `args` are inherited by the fork, so they may be anything, closures included; results must pickle.
    `device` is `auto`, `cpu` or `cuda` (one GPU a rank). `timeout_s` limits the whole call, None does not; a rank that
    waits for another in one collective gives up after it too (600 s where it is None). `on_message(rank, value)` is
    called in the parent for each `send_to_parent(value)` of a rank, while the ranks run.

    Raises the PlannerError that a rank raised; RunFailedError where the ranks cannot be started, where one ran out of
    memory, lost another or died, or where `timeout_s` passed; RankDefectError, with the rank's traceback, where one
    raised anything else; BadInputError for more ranks than CUDA devices.
    """
    with RankGroup(num_ranks, device=device, timeout_s=timeout_s, first_call=(fn, args)) as ranks:
        return ranks.results(timeout_s, on_message)


class RankGroup:
    """Forked workers with one process group that serve calls until the group is closed.

    A context manager. After a failure the group is closed, and a later call raises RunFailedError.
    """

    def __init__(
        self,
        num_ranks: int,
        *,
        device: str = "cpu",
        timeout_s: float | None = DEFAULT_TIMEOUT_S,
        first_call: Call | None = None,
    ) -> None:
        """Starts the ranks; they begin with `first_call` where it is given.

        Raises RunFailedError where the system refuses to start so many; then none of them is left.
        """
        if num_ranks < 1:
            raise BadInputError(f"num_ranks is {num_ranks}; at least 1 rank is needed")
        chosen = choose_device(device)
        check_enough_devices(num_ranks, chosen)
        if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
            raise RunFailedError("ranks cannot be started from a process that has already used CUDA; start them first")
        self.num_ranks = num_ranks
        self._pipes: list[Connection] = []
        self._workers: list[ForkProcess] = []
        try:
            self._start(chosen.type, timeout_s or DEFAULT_TIMEOUT_S, first_call)
        except OSError as error:
            self._kill()
            raise RunFailedError(_why_not_started(num_ranks, error)) from None

    @property
    def is_open(self) -> bool:
        """Whether the ranks still take calls."""
        return bool(self._workers)

    def call(
        self,
        fn: Callable[..., T],
        *args: Any,
        timeout_s: float | None = DEFAULT_TIMEOUT_S,
        on_message: OnMessage | None = None,
    ) -> list[T]:
        """Run `fn(*args)` on every rank, in the processes that are already there; as `run_ranks` otherwise.

        `fn` and `args` travel through a pipe: `fn` must be a function of a module, `args` must pickle.
        """
        if not self.is_open:
            raise RunFailedError("the ranks have ended, so they cannot take another call; start a new group")
        for pipe in self._pipes:
            pipe.send((fn, args))
        return self.results(timeout_s, on_message)

    def results(self, timeout_s: float | None, on_message: OnMessage | None = None) -> list[Any]:
        """Wait for the result of every rank; unless every rank returns, all are killed."""
        finished = False
        try:
            results = self._collect(timeout_s, on_message)
            finished = True
        finally:
            # Also on Ctrl-C, which the workers ignore.
            if not finished:
                self._kill()
        return results

    def close(self) -> None:
        """End the workers; they leave their process group first."""
        for pipe in self._pipes:
            # Not by closing the pipe: groups that were forked later hold a copy of this end.
            with suppress(OSError):
                pipe.send(None)
            pipe.close()
        for worker in self._workers:
            worker.join()
        self._pipes, self._workers = [], []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if error is None:
            self.close()
        else:
            self._kill()

    def _start(self, device: str, timeout_s: float, first_call: Call | None) -> None:
        """Fork the workers; what is started before an OSError stands in `_pipes` and `_workers`."""
        context = multiprocessing.get_context("fork")
        with ExitStack() as only_for_workers:
            pipes = []
            for _ in range(self.num_ranks):
                parent, worker_end = context.Pipe()
                self._pipes.append(parent)
                only_for_workers.enter_context(worker_end)
                pipes.append((parent, worker_end))
            # A socket that already listens leaves no moment in which another program can take the port.
            listener = only_for_workers.enter_context(
                socket.create_server((LOCALHOST, 0), backlog=2 * self.num_ranks + 8)
            )
            end_openmp_threads()
            for rank in range(self.num_ranks):
                arguments = (rank, pipes, listener, device, timeout_s, first_call)
                worker = context.Process(target=work, args=arguments, daemon=True)
                worker.start()
                self._workers.append(worker)

    def _collect(self, timeout_s: float | None, on_message: OnMessage | None) -> list[Any]:
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        results: dict[int, Any] = {}
        failures: list[BaseException] = []
        waiting = dict(enumerate(self._pipes))
        while waiting:
            left_s = None if deadline is None else max(0.0, deadline - time.monotonic())
            ready = wait(list(waiting.values()), left_s)
            if not ready and failures:
                break
            if not ready:
                silent = ", ".join(map(str, waiting))
                raise RunFailedError(f"rank {silent} of {self.num_ranks} did not finish within {timeout_s:g} s")
            for rank in [rank for rank, pipe in waiting.items() if pipe in ready]:
                kind, value = self._receive(rank)
                if kind == MESSAGE:
                    if on_message is not None:
                        on_message(rank, value)
                    continue
                del waiting[rank]
                if kind == RESULT:
                    results[rank] = value
                    continue
                if not failures:
                    deadline = time.monotonic() + _FAILURE_GRACE_S
                failures.append(value)
        if failures:
            raise min(failures, key=_blame)
        return [results[rank] for rank in range(self.num_ranks)]

    def _receive(self, rank: int) -> tuple[str, Any]:
        """The next thing a rank says; a closed pipe means that it died."""
        try:
            kind, value = self._pipes[rank].recv()
        except (EOFError, ConnectionResetError):
            self._workers[rank].join()
            return FAILURE, _DiedError(f"rank {rank} of {self.num_ranks}", self._workers[rank].exitcode)
        return kind, value

    def _kill(self) -> None:
        for worker in self._workers:
            worker.kill()
        self.close()


class _DiedError(RankFailedError):
    """A worker that ended without a word."""

    def __init__(self, who: str, exit_code: int | None) -> None:
        super().__init__(f"{who} {_how_it_ended(exit_code)}")
        self.aborted = exit_code == -signal.SIGABRT


def _blame(failure: BaseException) -> int:
    """Order of failures from cause to consequence.

    No rank kills another, but NCCL aborts a rank whose peer is gone, and a rank that lost its peers can fail in ways
    that nobody foresaw.
    """
    if isinstance(failure, _DiedError):
        return 3 if failure.aborted else 0
    if isinstance(failure, LostPeerError):
        return 4
    return 1 if isinstance(failure, PlannerError) else 2


def _why_not_started(num_ranks: int, error: OSError) -> str:
    reason = (error.strerror or str(error)).lower()
    remedy = _REMEDIES.get(error.errno or 0, "use fewer ranks")
    return f"{num_ranks} ranks cannot be started here: {reason}; {remedy}"


def _how_it_ended(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        hint = "; the system may have run out of memory" if -exit_code == signal.SIGKILL else ""
        return f"was killed by {signal.Signals(-exit_code).name}{hint}"
    return f"ended with exit code {exit_code} before it had a result"
