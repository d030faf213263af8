"""The tables of a validation, for the terminal and for the page alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from costmodel import units
from costmodel.memory_counter import MemoryCounter
from costmodel.spec import Verdict
from costmodel.uncertainty import COVERED_FRAC
from planner.cli.console import line, table
from planner.validation.answers import Answer
from planner.validation.scores.feasibility import Judged
from planner.validation.scores.scored import Errors
from planner.validation.scores.summary import MemoryScore, Scores, TimeScore, worst
from planner.validation.unsaid import Unsaid

if TYPE_CHECKING:
    from rich.console import Console

    from planner.validation.table import RunTable

NUM_WORST = 12
NUM_TERMS = 3
MEAN = "mean"


@dataclass(frozen=True)
class Figures:
    """A table of text."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    has_words: bool = False
    """Whether the last column holds sentences, which may be broken over lines."""

    @property
    def whole(self) -> tuple[str, ...]:
        """Columns that stay on one line."""
        return self.columns[1:-1] if self.has_words else self.columns


def overview(scores: Scores) -> Figures:
    """Predictions beside the simplest model: means over sources."""
    rows = (
        _overview_row("predictions", scores.time),
        _overview_row("each source left out", scores.time_left_out),
        _overview_row("constant efficiency", scores.baseline),
        _overview_row("answered runs alone", scores.time_answered),
        _overview_row("constant efficiency there", scores.baseline_answered),
    )
    return Figures(
        "Step time, mean over sources, in percent",
        ("", "answered", "MdAPE", "p90", "bias", "order", "regret", "covered", "width"),
        rows,
    )


def _overview_row(name: str, score: TimeScore) -> tuple[str, ...]:
    figures = ("-",) * 3 if score.mean is None else _error_cells(score.mean)
    coverage = ("-",) * 2 if score.mean is None else _interval_cells(score.mean)
    ranks = (_percent(score.mean_order), _percent(score.mean_regret))
    return (name, f"{score.num_answered:,}/{score.num_rows:,}", *figures, *ranks, *coverage)


def time_by_source(scores: Scores) -> Figures:
    """Every source on its own, beside the simplest model and the prediction that does not rest on it."""
    rows = []
    for source, errors in scores.time.by_source.items():
        order, regret = scores.time.order.get(source), scores.time.regret.get(source)
        rows.append(
            (
                source,
                f"{errors.num_answered:,}/{errors.num_rows:,}",
                *_error_cells(errors),
                "" if order is None else _percent(order.mean),
                "" if regret is None else _percent(regret.mean),
                *_interval_cells(errors),
                _percent(scores.time_left_out.by_source[source].median_frac),
                _percent(scores.baseline.by_source[source].median_frac),
            )
        )
    columns = ("source", "answered", "MdAPE", "p90", "bias", "order", "regret", "covered", "width", "left out")
    return Figures("Step time by source, in percent", (*columns, "constant"), tuple(rows))


def memory(scores: Scores) -> Figures:
    """Peaks by counter and source."""
    rows = []
    for counter, score in scores.memory.items():
        left_out = scores.memory_left_out[counter]
        for source, errors in score.by_source.items():
            rows.append(_memory_row(counter, source, errors, left_out.by_source[source].median_frac))
        if score.mean is not None and left_out.mean is not None:
            rows.append(_memory_row(counter, MEAN, score.mean, left_out.mean.median_frac))
    columns = ("counter", "source", "answered", "MdAPE", "p90", "bias", "covered", "width", "left out")
    return Figures("Peak memory by what is counted, in percent", columns, tuple(rows))


def _memory_row(counter: MemoryCounter, source: str, errors: Errors, left_out_frac: float) -> tuple[str, ...]:
    answered = f"{errors.num_answered:,}/{errors.num_rows:,}"
    cells = (*_error_cells(errors), *_interval_cells(errors))
    return (counter.value, source, answered, *cells, _percent(left_out_frac))


def verdicts(scores: Scores) -> Figures:
    """How runs that ran, and runs that failed for lack of memory, are judged."""
    names = [verdict.value for verdict in Verdict]
    return Figures(
        "Verdicts",
        ("outcome", "answered", *names),
        (_verdict_row("ran", scores.ran), _verdict_row("out of memory", scores.failed)),
    )


def _verdict_row(name: str, judged: Judged) -> tuple[str, ...]:
    shares = (f"{judged.verdicts[verdict.value]} ({_percent(judged.frac(verdict))} %)" for verdict in Verdict)
    return (name, f"{judged.num_answered:,}/{judged.num_rows:,}", *shares)


def unanswered(reasons: Counter[str]) -> Figures:
    """Why runs have no prediction."""
    rows = tuple((f"{count:,}", reason) for reason, count in sorted(reasons.items(), key=lambda item: -item[1]))
    return Figures("Runs without a prediction", ("runs", "reason"), rows, has_words=True)


def worst_rows(scores: Scores, answers: Sequence[Answer | Unsaid], count: int = NUM_WORST) -> Figures:
    """The step times that are furthest off, with their largest terms."""
    rows = []
    for row in worst(scores.time.rows, count):
        answer = answers[row.index]
        if row.predicted is None or isinstance(answer, Unsaid):
            continue
        measured, predicted = (units.format_seconds(time_s) for time_s in (row.measured, row.predicted.value))
        rows.append((row.id, measured, predicted, f"{_signed(row.error_frac)} %", terms_of(answer)))
    return Figures(
        "Furthest off", ("run", "measured", "predicted", "error", "largest terms"), tuple(rows), has_words=True
    )


def terms_of(answer: Answer) -> str:
    """The largest terms of a predicted step."""
    terms = answer.prediction.terms[:NUM_TERMS]
    return ", ".join(f"{term.name} {units.format_seconds(term.time_s)}" for term in terms)


def num_predicted(answers: Sequence[Answer | Unsaid]) -> str:
    """How many runs have a prediction, in words."""
    count = sum(isinstance(answer, Answer) for answer in answers)
    return f"{count:,} of {len(answers):,} runs have a prediction"


def _error_cells(errors: Errors) -> tuple[str, str, str]:
    return _percent(errors.median_frac), _percent(errors.p90_frac), _signed(errors.bias_frac)


def _interval_cells(errors: Errors) -> tuple[str, str]:
    return _percent(errors.coverage_frac), _percent(errors.half_width_frac)


def _percent(frac: float | None) -> str:
    return "-" if frac is None else f"{100 * frac:.1f}"


def _signed(frac: float | None) -> str:
    return "-" if frac is None else f"{100 * frac:+.1f}"


def needed_half_widths(scores: Scores) -> str:
    """How wide intervals would have to be."""
    words = [_needed("step times", scores.time.needed_half_width_frac)]
    words += [_needed(f"memory ({counter.value})", frac) for counter, frac in _widths(scores.memory)]
    return f"Half-width that holds {COVERED_FRAC:.0%} of the runs, sources weighing the same: {', '.join(words)}."


def _widths(scores: dict[MemoryCounter, MemoryScore]) -> list[tuple[MemoryCounter, float | None]]:
    return [(counter, score.needed_half_width_frac) for counter, score in scores.items()]


def _needed(name: str, frac: float | None) -> str:
    return f"{name} unknown" if frac is None else f"{name} {_percent(frac)} %"


def print_validation(console: Console, runs: RunTable, answers: Sequence[Answer | Unsaid], scores: Scores) -> None:
    """The summary in a terminal."""
    console.print(line(f"{num_predicted(answers)}."))
    shown: list[Figures] = []
    if scores.time.rows:
        shown += [overview(scores), time_by_source(scores)]
    if scores.memory:
        shown.append(memory(scores))
    if runs.has_results:
        shown.append(verdicts(scores))
    if scores.time.num_answered:
        shown.append(worst_rows(scores, answers))
    if scores.unanswered:
        shown.append(unanswered(scores.unanswered))
    for figures in shown:
        console.print()
        console.print(table(figures.columns, figures.rows, figures.caption, whole=figures.whole))
    if scores.time.num_answered:
        console.print()
        console.print(line(needed_half_widths(scores)))
