"""Takes times on the device that does the work: CUDA events on a GPU, the wall clock on a CPU."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Protocol

import torch


class Stopwatch(Protocol):
    """Marks moments, and reads the seconds between them."""

    def mark(self) -> None:
        """Note this moment."""
        ...

    def read(self) -> list[float]:
        """Seconds from each mark to the next since the last reading; one fewer than marks."""
        ...


class WallStopwatch:
    """For work that is done when the call returns."""

    def __init__(self) -> None:
        self._marks: list[float] = []

    def mark(self) -> None:
        """Note the time of day."""
        self._marks.append(time.perf_counter())

    def read(self) -> list[float]:
        """Differences of the marks."""
        marks, self._marks = self._marks, []
        return [after - before for before, after in pairwise(marks)]


class CudaStopwatch:
    """For work that a CUDA stream does later: the marks lie in the stream, and only reading waits for it."""

    def __init__(self) -> None:
        self._marks: list[torch.cuda.Event] = []

    def mark(self) -> None:
        """Put an event behind the work launched so far."""
        event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        event.record()
        self._marks.append(event)

    def read(self) -> list[float]:
        """Wait for the last event; CUDA counts milliseconds."""
        marks, self._marks = self._marks, []
        if marks:
            marks[-1].synchronize()
        return [before.elapsed_time(after) / 1e3 for before, after in pairwise(marks)]


def stopwatch(device: torch.device) -> Stopwatch:
    """The stopwatch for work on `device`."""
    return CudaStopwatch() if device.type == "cuda" else WallStopwatch()
