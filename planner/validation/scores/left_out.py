"""Predictions as they would be had a run's source published nothing.

The constants of a software stack that a source alone supports are those of the generic stack for its runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from costmodel.spec import SoftwareStack
from costmodel.stacks import GENERIC, known
from planner.validation.answers import Answer, answer
from planner.validation.configuration import Configuration
from planner.validation.scores.sources import source_of
from planner.validation.table import Run
from planner.validation.unsaid import Unsaid


def answers_without_own_source(runs: Sequence[Run], answers: Sequence[Answer | Unsaid]) -> list[Answer | Unsaid]:
    """For every run the answer that does not rest on its own source."""
    kept: dict[tuple[str, Configuration], Answer | Unsaid] = {}
    found: list[Answer | Unsaid] = []
    for run, usual in zip(runs, answers, strict=True):
        if isinstance(usual, Unsaid) or isinstance(run.configuration, Unsaid) or not _rests_on(usual, run.id):
            found.append(usual)
            continue
        key = (source_of(run.id), run.configuration)
        if key not in kept:
            kept[key] = answer(run.configuration, partial(without, source=key[0]))
        found.append(kept[key])
    return found


def without(stack: SoftwareStack, source: str) -> SoftwareStack:
    """The stack as it would be without the runs of `source`."""
    return known(stack.name).without(source, GENERIC)


def _rests_on(usual: Answer, run_id: str) -> bool:
    return without(usual.stack, source_of(run_id)) != usual.stack
