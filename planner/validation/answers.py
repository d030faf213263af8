"""Predicts every run of a table: each distinct question once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from costmodel.memory_counter import CountedPeak, MemoryCounter, MemoryRank, counted_peak
from costmodel.predict import predict
from costmodel.spec import Infeasible, Prediction, SoftwareStack
from planner.validation.configuration import Configuration
from planner.validation.express import Job, express
from planner.validation.unsaid import Unsaid

Restack = Callable[[SoftwareStack], SoftwareStack]

UNMODELLED_COUNTER = "memory as {counter} counts it has no model yet"


@dataclass(frozen=True)
class Answer:
    """What is predicted of one run, and what was assumed for it."""

    stack: SoftwareStack
    prediction: Prediction
    peak: CountedPeak | None
    """As the run's counter shows it; None where that counter has no model."""
    note: str


def answer_all(
    configurations: Iterable[Configuration | Unsaid], on_progress: Callable[[int], None] = lambda _done: None
) -> list[Answer | Unsaid]:
    """An answer for every run in order. Rows that only repeat a configuration are predicted once."""
    known: dict[Configuration, Answer | Unsaid] = {}
    found: list[Answer | Unsaid] = []
    for done, run in enumerate(configurations):
        on_progress(done)
        if isinstance(run, Unsaid):
            found.append(run)
            continue
        if run not in known:
            known[run] = answer(run)
        found.append(known[run])
    return found


def answer(run: Configuration, restack: Restack = lambda stack: stack) -> Answer | Unsaid:
    """The prediction for one run, with the software stack that `restack` makes of its own."""
    job = express(run)
    if isinstance(job, Unsaid):
        return job
    return _answer(run, job, restack(job.stack))


def _answer(run: Configuration, job: Job, stack: SoftwareStack) -> Answer | Unsaid:
    prediction = predict(job.model, job.workload, job.cluster, stack, job.plan)
    if isinstance(prediction, Infeasible):
        return Unsaid(f"no price: {prediction.rule}", prediction.sentence)
    counter = run.memory_counter or MemoryCounter.UNKNOWN
    peak = counted_peak(prediction, counter, run.memory_rank or MemoryRank.WORST)
    notes = job.notes if peak is not None else (*job.notes, UNMODELLED_COUNTER.format(counter=counter.value))
    return Answer(stack, prediction, peak, "; ".join(notes))
