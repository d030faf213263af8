"""What `solve` and `check` share: from flags to a job, from an answer to output, plan file and exit code."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from costmodel.errors import EXIT_INFEASIBLE, BadInputError
from costmodel.spec import PlanFile
from planner.cli.answer_object import answer_object
from planner.cli.answer_text import print_answer
from planner.cli.console import out, print_json, working
from planner.cli.layout import read_layout
from planner.cli.question import WorkloadFlags, build_job
from planner.documents import check_document_writable, write_document
from planner.files import refuse_same_file
from planner.job import Answer, Job, Layout

LAYOUT_NAMES = tuple(Layout.__dataclass_fields__)
WORKLOAD_NAMES = tuple(WorkloadFlags.__dataclass_fields__)


def answer_question(
    flags: dict[str, Any], output: Path, *, force: bool, as_json: bool, allow_tight: bool, time_limit_s: float | None
) -> None:
    """`planner solve`; raises click's Exit with code 3 where nothing fits."""
    if time_limit_s is not None and not time_limit_s > 0:
        raise BadInputError(f"--time-limit is {time_limit_s:g}, but must be above 0 seconds")
    job, layout = _read(flags, output, force)
    from planner.search.solve import solve

    with working("searching", shown=not as_json) as on_progress:
        answer = solve(job, layout, allow_tight=allow_tight, time_limit_s=time_limit_s, on_progress=on_progress)
    _deliver(answer, job, output, force=force, as_json=as_json)


def judge_layout(flags: dict[str, Any], output: Path, *, force: bool, as_json: bool) -> None:
    """`planner check`; raises click's Exit with code 3 where the layout cannot be or does not fit."""
    job, layout = _read(flags, output, force)
    from planner.check import check, layout_defaults

    job = replace(job, defaults=job.defaults | layout_defaults(job, layout))
    _deliver(check(job, layout), job, output, force=force, as_json=as_json)


def _read(flags: dict[str, Any], output: Path, force: bool) -> tuple[Job, Layout]:
    layout = read_layout({name: flags[name] for name in LAYOUT_NAMES})
    workload = WorkloadFlags(**{name: flags[name] for name in WORKLOAD_NAMES})
    check_document_writable(output, PlanFile, force=force)
    refuse_same_file(output, *(flags[name] for name in ("model", "cluster", "profile") if flags[name] is not None))
    job = build_job(flags["gpus"], flags["model"], flags["cluster"], flags["profile"], flags["framework"], workload)
    return job, layout


def _deliver(answer: Answer, job: Job, output: Path, *, force: bool, as_json: bool) -> None:
    if answer.plan_file is not None:
        write_document(output, answer.plan_file, force=force)
    path = output if answer.plan_file is not None else None
    assumptions = job.first_line if answer.plan_file is None else answer.plan_file.assumptions
    if as_json:
        print_json({**answer_object(answer, path), "assumptions": list(assumptions), "defaults": job.defaults})
    else:
        print_answer(out(), answer, assumptions, path)
    if answer.infeasible is not None:
        raise click.exceptions.Exit(EXIT_INFEASIBLE)
