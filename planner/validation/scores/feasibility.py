"""Whether runs that ran are judged to fit, and runs that failed for lack of memory not to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from costmodel.spec import Verdict
from planner.validation.answers import Answer
from planner.validation.table import Run
from planner.validation.unsaid import Unsaid


@dataclass(frozen=True)
class Judged:
    """Verdicts on the runs of one outcome."""

    num_rows: int
    num_answered: int
    verdicts: dict[str, int]
    """By verdict."""

    def frac(self, verdict: Verdict) -> float | None:
        """Share of the answered runs that are judged so."""
        return self.verdicts[verdict.value] / self.num_answered if self.num_answered else None


def judged(runs: Sequence[Run], answers: Sequence[Answer | Unsaid], outcome: str) -> Judged:
    """The verdicts on all runs of `outcome`."""
    found = [
        answer
        for run, answer in zip(runs, answers, strict=True)
        if not isinstance(run.measured, Unsaid) and run.measured.outcome == outcome
    ]
    answered = [answer.prediction.verdict for answer in found if isinstance(answer, Answer)]
    counted = Counter(answered)
    return Judged(len(found), len(answered), {verdict.value: counted[verdict] for verdict in Verdict})
