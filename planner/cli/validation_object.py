"""What `planner validate --json` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from costmodel.memory_counter import MemoryCounter
from planner.validation.answers import Answer
from planner.validation.scores.feasibility import Judged
from planner.validation.scores.ranking import Rank
from planner.validation.scores.summary import MemoryScore, Scores, TimeScore, worst
from planner.validation.unsaid import Unsaid

NUM_WORST = 20


def validation_object(file: str, answers: Sequence[Answer | Unsaid], scores: Scores) -> dict[str, Any]:
    """Scores, the rows that are furthest off with their terms, and why runs have no prediction."""
    return {
        "file": file,
        "num_runs": len(answers),
        "num_answered": sum(isinstance(answer, Answer) for answer in answers),
        "time": _time(scores.time),
        "time_left_out": _time(scores.time_left_out),
        "baseline": _time(scores.baseline),
        "time_answered": _time(scores.time_answered),
        "baseline_answered": _time(scores.baseline_answered),
        "memory": _memory(scores.memory),
        "memory_left_out": _memory(scores.memory_left_out),
        "ran": _judged(scores.ran),
        "oom": _judged(scores.failed),
        "unanswered": dict(scores.unanswered.most_common()),
        "worst": [_worst(row.id, row.measured, answers[row.index]) for row in worst(scores.time.rows, NUM_WORST)],
    }


def _time(score: TimeScore) -> dict[str, Any]:
    return {
        "num_rows": score.num_rows,
        "num_answered": score.num_answered,
        "mean": None if score.mean is None else asdict(score.mean),
        "order_frac": score.mean_order,
        "regret_frac": score.mean_regret,
        "needed_half_width_frac": score.needed_half_width_frac,
        "by_source": {source: asdict(errors) for source, errors in score.by_source.items()},
        "order_by_source": _ranks(score.order),
        "regret_by_source": _ranks(score.regret),
    }


def _ranks(ranks: Mapping[str, Rank]) -> dict[str, Any]:
    return {source: asdict(rank) for source, rank in ranks.items()}


def _memory(scores: Mapping[MemoryCounter, MemoryScore]) -> dict[str, Any]:
    return {
        counter.value: {
            "mean": None if score.mean is None else asdict(score.mean),
            "needed_half_width_frac": score.needed_half_width_frac,
            "by_source": {source: asdict(errors) for source, errors in score.by_source.items()},
        }
        for counter, score in scores.items()
    }


def _judged(judged: Judged) -> dict[str, Any]:
    return {"num_rows": judged.num_rows, "num_answered": judged.num_answered, **judged.verdicts}


def _worst(run_id: str, measured_s: float, answer: Answer | Unsaid) -> dict[str, Any]:
    assert isinstance(answer, Answer)  # only answered rows are among the worst
    prediction = answer.prediction
    return {
        "id": run_id,
        "measured_s": measured_s,
        "predicted_s": prediction.step_time_s,
        "terms": {term.name: term.time_s for term in prediction.terms},
        "note": answer.note,
    }
