"""All scores of a table of runs together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from costmodel.memory_counter import MemoryCounter
from costmodel.uncertainty import COVERED_FRAC
from planner.validation.answers import Answer
from planner.validation.configuration import Configuration
from planner.validation.scores.baseline import baseline_s
from planner.validation.scores.feasibility import Judged, judged
from planner.validation.scores.left_out import answers_without_own_source
from planner.validation.scores.ranking import Rank, mean_rank, order, regret
from planner.validation.scores.scored import Errors, Predicted, Scored, by_source, errors_of, mean_over_sources
from planner.validation.scores.sources import NOT_SCORED, source_of
from planner.validation.scores.spread import distances, half_width
from planner.validation.table import Run
from planner.validation.unsaid import Unsaid


@dataclass(frozen=True)
class TimeScore:
    """How well step times are predicted."""

    rows: tuple[Scored, ...]
    by_source: dict[str, Errors]
    mean: Errors | None
    order: dict[str, Rank]
    regret: dict[str, Rank]

    @property
    def num_rows(self) -> int:
        """Runs that were scored."""
        return len(self.rows)

    @property
    def num_answered(self) -> int:
        """Runs that were predicted."""
        return sum(row.predicted is not None for row in self.rows)

    @property
    def mean_order(self) -> float | None:
        """Over sources."""
        return mean_rank(self.order)

    @property
    def mean_regret(self) -> float | None:
        """Over sources."""
        return mean_rank(self.regret)

    @property
    def needed_half_width_frac(self) -> float | None:
        """What would hold the share of runs that bounds promise, sources weighing the same."""
        scored = {source: rows for source, rows in by_source(self.rows).items() if source not in NOT_SCORED}
        return half_width(distances(scored), COVERED_FRAC)


@dataclass(frozen=True)
class MemoryScore:
    """How well the peaks that one counter shows are predicted."""

    rows: tuple[Scored, ...]
    by_source: dict[str, Errors]
    mean: Errors | None

    @property
    def needed_half_width_frac(self) -> float | None:
        """As for times."""
        return half_width(distances(by_source(self.rows)), COVERED_FRAC)


@dataclass(frozen=True)
class Scores:
    """What came of a table."""

    time: TimeScore
    time_left_out: TimeScore
    """Each source predicted as if it had published nothing."""
    baseline: TimeScore
    """Constant efficiency, on the same runs."""
    time_answered: TimeScore
    """Only the runs that are answered."""
    baseline_answered: TimeScore
    memory: dict[MemoryCounter, MemoryScore]
    memory_left_out: dict[MemoryCounter, MemoryScore]
    failed: Judged
    """Runs that failed for lack of memory."""
    ran: Judged
    unanswered: Counter[str]
    """Runs without a prediction, by reason, those that are not scored among them."""


def score(runs: Sequence[Run], answers: Sequence[Answer | Unsaid]) -> Scores:
    """Set every answer beside what was measured."""
    left_out = answers_without_own_source(runs, answers)
    time = _timed(runs, [_predicted_time(answer) for answer in answers])
    baseline = _timed(runs, [_baseline(run.configuration) for run in runs])
    answered = {row.index for row in time if row.predicted is not None}
    return Scores(
        time=_time_score(time),
        time_left_out=_time_score(_timed(runs, [_predicted_time(answer) for answer in left_out])),
        baseline=_time_score(baseline),
        time_answered=_time_score(tuple(row for row in time if row.index in answered)),
        baseline_answered=_time_score(tuple(row for row in baseline if row.index in answered)),
        memory=_memory_scores(runs, answers),
        memory_left_out=_memory_scores(runs, left_out),
        failed=judged(runs, answers, "oom"),
        ran=judged(runs, answers, "ran"),
        unanswered=Counter(answer.reason for answer in answers if isinstance(answer, Unsaid)),
    )


def _predicted_time(answer: Answer | Unsaid) -> Predicted | None:
    if isinstance(answer, Unsaid):
        return None
    prediction = answer.prediction
    return Predicted(prediction.step_time_s, prediction.step_time_low_s, prediction.step_time_high_s)


def _baseline(run: Configuration | Unsaid) -> Predicted | None:
    time_s = None if isinstance(run, Unsaid) else baseline_s(run)
    return None if time_s is None else Predicted(time_s, time_s, time_s)


def _timed(runs: Sequence[Run], predicted: Sequence[Predicted | None]) -> tuple[Scored, ...]:
    """Runs whose step time counts."""
    return tuple(
        Scored(index, run.id, source_of(run.id), run.configuration, run.measured.step_time_s, value)
        for index, (run, value) in enumerate(zip(runs, predicted, strict=True))
        if not isinstance(run.measured, Unsaid) and run.measured.use_time and run.measured.step_time_s is not None
    )


def _time_score(rows: tuple[Scored, ...]) -> TimeScore:
    errors = {source: errors_of(found) for source, found in by_source(rows).items()}
    return TimeScore(rows, errors, mean_over_sources(errors, NOT_SCORED), order(rows), regret(rows))


def _memory_scores(runs: Sequence[Run], answers: Sequence[Answer | Unsaid]) -> dict[MemoryCounter, MemoryScore]:
    found: dict[MemoryCounter, list[Scored]] = {}
    for index, (run, answer) in enumerate(zip(runs, answers, strict=True)):
        if isinstance(run.measured, Unsaid) or not run.measured.use_memory:
            continue
        peak = None if isinstance(answer, Unsaid) else answer.peak
        value = None if peak is None else Predicted(peak.bytes, peak.low_bytes, peak.high_bytes)
        stated = None if isinstance(run.configuration, Unsaid) else run.configuration.memory_counter
        counter = stated or MemoryCounter.UNKNOWN
        row = Scored(index, run.id, source_of(run.id), run.configuration, run.measured.peak_bytes, value)
        found.setdefault(counter, []).append(row)
    return {counter: _memory_score(rows) for counter, rows in sorted(found.items())}


def _memory_score(rows: Iterable[Scored]) -> MemoryScore:
    listed = tuple(rows)
    errors = {source: errors_of(found) for source, found in by_source(listed).items()}
    return MemoryScore(listed, errors, mean_over_sources(errors))


def worst(rows: Iterable[Scored], count: int) -> list[Scored]:
    """The answered rows of scored sources that are furthest off, the worst first."""
    answered = [row for row in rows if row.predicted is not None and row.source not in NOT_SCORED]
    return sorted(answered, key=lambda row: (-row.abs_error_frac, row.index))[:count]
