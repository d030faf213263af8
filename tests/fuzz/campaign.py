"""Runs many inputs in worker processes, each watched from outside, and counts what became of them.

A worker answers for each input in order. One that is silent for too long is ended by the watchdog of `faulthandler`,
which works even where Python does not get to run; a worker that dies is noticed by its closed pipe. Either way the
input is known by its number, since every input can be made anew from seed and number.
"""

from __future__ import annotations

import faulthandler
import logging
import multiprocessing
import resource
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path

from tests.fuzz.check import Built, Outcome, accepted, check_reading
from tests.fuzz.inputs import Mutant, mutant

DEADLINE_S = 10
"""To read an input and to show, store and price the model; it takes milliseconds, or a second with 1,000 layers."""
BUILD_DEADLINE_S = 120
"""To count the model by transformers, which imports PyTorch the first time."""
MEMORY_BYTES = 12 * 2**30
"""Address space of a worker, so that an input that asks for too much fails alone."""


@dataclass(frozen=True)
class Failure:
    """An input for which something did not hold."""

    index: int
    mutant: Mutant
    what: str


@dataclass
class Tally:
    """What became of the inputs."""

    by_outcome: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By kind of mutant, and `accepted` or `refused`."""
    refusals: Counter[str] = field(default_factory=Counter)
    classes: Counter[str] = field(default_factory=Counter)
    """Accepted mutants of each class."""
    counted: Counter[str] = field(default_factory=Counter)
    """Accepted mutants by what counted them."""
    failure: Failure | None = None

    def add(self, kind: str, outcome: Outcome) -> None:
        """Count one input of `kind`."""
        self.by_outcome[kind, outcome.kind] += 1
        if outcome.kind == "refused":
            self.refusals[outcome.subject] += 1
        else:
            self.classes[outcome.subject] += 1
            self.counted[outcome.counted] += 1

    def accepted_frac(self, kind: str) -> float:
        """Share of the mutants of `kind` that were accepted."""
        accepted, refused = self.by_outcome[kind, "accepted"], self.by_outcome[kind, "refused"]
        return accepted / max(accepted + refused, 1)


def run(
    seed: int,
    num_inputs: int,
    num_workers: int,
    built: Built = Built.WITHOUT_FORMULA,
    deadline_s: float = DEADLINE_S,
) -> Tally:
    """Inputs 0 to `num_inputs` of `seed`; stops at the first failure."""
    context = multiprocessing.get_context("spawn")
    tally, last = Tally(), {}
    pipes: dict[Connection, tuple[int, multiprocessing.process.BaseProcess]] = {}
    for first in range(num_workers):
        receiving, sending = context.Pipe(duplex=False)
        indices = range(first, num_inputs, num_workers)
        worker = context.Process(target=_work, args=(sending, seed, indices, built, deadline_s), daemon=True)
        worker.start()
        sending.close()
        pipes[receiving] = (first, worker)
        last[first] = first - num_workers
    while pipes and tally.failure is None:
        for pipe in wait(list(pipes)):
            first, worker = pipes[pipe]
            try:
                index, kind, answer = pipe.recv()
            except EOFError:
                del pipes[pipe]
                worker.join()
                index = last[first] + num_workers
                if index < num_inputs:
                    what = f"the worker ended with {worker.exitcode}: a hang, or a crash"
                    tally.failure = Failure(index, mutant(seed, index), what)
                continue
            last[first] = index
            if isinstance(answer, Outcome):
                tally.add(kind, answer)
            elif tally.failure is None:
                tally.failure = Failure(index, mutant(seed, index), answer)
    for _, worker in pipes.values():
        worker.terminate()
    return tally


def _work(answers: Connection, seed: int, indices: range, built: Built, deadline_s: float) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        for index in indices:
            made = mutant(seed, index)
            answer = _outcome_or_failure(made, Path(folder) / "config.json", built, deadline_s)
            answers.send((index, made.kind, answer))


def _outcome_or_failure(made: Mutant, path: Path, built: Built, deadline_s: float) -> Outcome | str:
    try:
        with _watched(deadline_s):
            read = check_reading(made, path)
        if isinstance(read, Outcome):
            return read
        with _watched(BUILD_DEADLINE_S):
            return accepted(read, built)
    except Exception:  # noqa: BLE001  whatever the reader raises is what is looked for
        return traceback.format_exc(limit=-6)


@contextmanager
def _watched(deadline_s: float) -> Iterator[None]:
    faulthandler.dump_traceback_later(deadline_s, exit=True, file=sys.stderr)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
