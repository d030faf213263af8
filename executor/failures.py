"""What an exception on a rank means: a failure of the run, which a user can act on, or a defect of ours.

A failure of the run (memory ran out, another rank was lost, the device gave up) becomes a RankFailedError, one
sentence. Everything else that is not a PlannerError already is a defect, and keeps its traceback.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import UnionType

import torch
import torch.distributed as dist

from costmodel.errors import PlannerError, RunFailedError

_OUT_OF_MEMORY = ("DefaultCPUAllocator: can't allocate memory", "CUBLAS_STATUS_ALLOC_FAILED")
"""Where torch raises a plain RuntimeError instead of OutOfMemoryError."""
_LOST_CONNECTION = ("gloo/transport", "gloo/rendezvous", "Connection closed by peer", "Gloo connectFullMesh failed")
"""How gloo's plain RuntimeErrors begin: with its source file, or with what it could not do."""

_MORE_MEMORY = "use a smaller --micro-batch, more recomputation or more GPUs"
_MEET = "check that every rank runs, and that MASTER_ADDR and MASTER_PORT lead to a free port of rank 0"
_SEE_PEER = "most likely another rank ended first; see its message"
_CHECK_GPU = "check the GPU with nvidia-smi, then run again"
"""What a user can do."""


class RankFailedError(RunFailedError):
    """What happened to one rank, and the others may not know."""


class LostPeerError(RankFailedError):
    """Communication failed; most often because another rank ended."""


class RankDefectError(Exception):
    """A defect of ours on a rank that this process started; the text ends with the rank's traceback."""


def expected_failure(error: BaseException, who: str) -> PlannerError | None:
    """The failure of the run that `error`, raised on rank `who`, stands for; None where it is a defect of ours."""
    cause = root_cause(error)
    if isinstance(cause, PlannerError):
        return cause
    if _is_any(cause, torch.OutOfMemoryError | MemoryError, _OUT_OF_MEMORY):
        return RankFailedError(f"{who} ran out of memory: {describe(cause)}; {_MORE_MEMORY}")
    sentence = f"{who} failed: {describe(cause)}"
    if isinstance(cause, dist.DistNetworkError | dist.DistStoreError):
        return LostPeerError(f"{sentence}; {_MEET}")
    if _is_any(cause, dist.DistError, _LOST_CONNECTION):
        return LostPeerError(f"{sentence}; {_SEE_PEER}")
    return RankFailedError(f"{sentence}; {_CHECK_GPU}") if isinstance(cause, torch.AcceleratorError) else None


@contextmanager
def failures_of(who: str) -> Iterator[None]:
    """Raises the failure of the run in place of what stands for it; a defect passes through."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        failure = expected_failure(error, who)
        if failure is None:
            raise
        raise failure from None


def root_cause(error: BaseException) -> BaseException:
    """What was raised first; torch's pipelining wraps errors of a stage in its own."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def describe(error: BaseException) -> str:
    """The type of `error` and the first line of its text that says something, where one does."""
    said = [line.strip().rstrip(".") for line in str(error).splitlines() if line.strip()]
    return ": ".join([type(error).__name__, *said[:1]])


def _is_any(error: BaseException, kinds: type | UnionType, texts: tuple[str, ...]) -> bool:
    """Whether `error` is of one of `kinds`, or a plain RuntimeError that holds one of `texts`."""
    text = str(error)
    return isinstance(error, kinds) or (isinstance(error, RuntimeError) and any(part in text for part in texts))
