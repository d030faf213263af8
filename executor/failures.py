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
        return RankFailedError(f"{who} ran out of memory: {first_line(cause)}")
    sentence = f"{who} failed: {type(cause).__name__}: {first_line(cause)}"
    if _is_any(cause, dist.DistError, _LOST_CONNECTION):
        return LostPeerError(sentence)
    return RankFailedError(sentence) if isinstance(cause, torch.AcceleratorError) else None


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


def first_line(error: BaseException) -> str:
    """The first line that says something."""
    return next((line for line in str(error).splitlines() if line.strip()), "no reason given")


def _is_any(error: BaseException, kinds: type | UnionType, texts: tuple[str, ...]) -> bool:
    """Whether `error` is of one of `kinds`, or a plain RuntimeError that holds one of `texts`."""
    text = str(error)
    return isinstance(error, kinds) or (isinstance(error, RuntimeError) and any(part in text for part in texts))
