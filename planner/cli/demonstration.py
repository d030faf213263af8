"""The steps of `planner demo` and what it says at the end."""

from __future__ import annotations

import time
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from costmodel import units
from costmodel.errors import EXIT_INFEASIBLE
from costmodel.spec import Measurement, PlanFile, Profile
from executor.options import DEFAULT_LR
from planner.cli.answer_object import plan_file_object
from planner.cli.answer_text import print_infeasible, print_plan_file
from planner.cli.console import OnProgress, err, line, part
from planner.cli.demo import LARGE_CLUSTER, LARGE_GPUS, LARGE_MODEL, PROFILE_BUDGET_S, STEPS
from planner.cli.device import check_ranks, default_ranks, find_device
from planner.cli.profiling import ProfileChoices, choose, measure_here
from planner.cli.question import WorkloadFlags, build_job
from planner.cli.report import is_report
from planner.cli.summaries import measurement_object, memory_sentence, noise_sentences, step_sentence
from planner.cli.training import train
from planner.documents import check_document_writable, write_document
from planner.files import check_writable, write_text
from planner.job import Answer, Job, Layout
from planner.models.presets import DEMO_MODEL
from planner.models.read import load_model
from reports import sentences

REMEDY = "start the demo in another folder"
"""What would do where a file cannot be written."""


@dataclass(frozen=True)
class Files:
    """Where the demo leaves what it made."""

    profile: Path
    plan: Path
    measurement: Path
    report: Path


@dataclass(frozen=True)
class Demonstration:
    """What the demo found."""

    profile: Profile
    local: PlanFile
    large: PlanFile
    measurement: Measurement
    wall_s: float


def demonstrate(files: Files, device: str, nproc: int | None, *, force: bool, on_progress: OnProgress) -> Demonstration:
    """Profile, solve twice, train and write the page. Files are written as they are made, each whole."""
    started = time.monotonic()
    for path, document in ((files.profile, Profile), (files.plan, PlanFile), (files.measurement, Measurement)):
        check_document_writable(path, document, force=force, remedy=REMEDY)
    check_writable(files.report, is_report, force=force, remedy=REMEDY)
    kind = find_device(device)
    num_ranks = default_ranks(kind) if nproc is None else nproc
    check_ranks(kind, num_ranks)

    large_job = build_job(LARGE_GPUS, LARGE_MODEL, LARGE_CLUSTER, None, "native", WorkloadFlags())
    large = _solved(large_job, part(on_progress, 0.0, 0.1))

    # A machine's speed wanders over minutes: what is trained comes right after it was measured.
    model = load_model(DEMO_MODEL)
    choices = choose(model, DEMO_MODEL, kind, num_ranks, None, None)
    choices = ProfileChoices(kind, num_ranks, choices.seq_len, choices.precision, PROFILE_BUDGET_S)
    profile = measure_here(model, choices, part(on_progress, 0.1, 0.55))
    write_document(files.profile, profile, force=force)
    local_job = build_job(num_ranks, None, None, files.profile, "native", WorkloadFlags())
    local = _solved(local_job, part(on_progress, 0.55, 0.6))
    write_document(files.plan, local, force=force)

    on_training = part(on_progress, 0.6, 0.97)
    measurement = train(local, None, steps=STEPS, seed=0, lr=DEFAULT_LR, device=kind.value, on_progress=on_training)
    assert measurement is not None, "the demo starts its own ranks, so this process gets the measurement"
    write_document(files.measurement, measurement, force=force)

    on_progress(0.97, "writing the page")
    from reports.page import render

    write_text(files.report, render(local, measurement, neighbours=(large,)))
    return Demonstration(profile, local, large, measurement, time.monotonic() - started)


def _solved(job: Job, on_progress: OnProgress) -> PlanFile:
    from planner.search.solve import solve

    what = f"solving {job.model.name} on {job.cluster.num_devices} devices"
    on_progress(0.0, what)
    answer: Answer = solve(
        job,
        Layout(),
        allow_tight=False,
        time_limit_s=None,
        on_progress=lambda detail: on_progress(0.5, f"{what}: {detail}"),
    )
    if answer.plan_file is None:
        if answer.infeasible is not None:
            print_infeasible(err(), answer.infeasible)
        raise click.exceptions.Exit(EXIT_INFEASIBLE)
    return answer.plan_file


def print_demonstration(console: Console, result: Demonstration, files: Files) -> None:
    """What was planned, what was measured, and where the files are."""
    console.print(line(f"This machine: {result.local.model.name}", "bold"))
    print_plan_file(console, result.local)
    console.print()
    console.print(line(f"{LARGE_GPUS} x {LARGE_CLUSTER}, from published figures: {result.large.model.name}", "bold"))
    console.print(line(sentences.headline(result.large)))
    console.print()
    losses = result.measurement.losses
    console.print(line(f"Trained {len(losses)} steps on this machine: loss {losses[0]:.3f} -> {losses[-1]:.3f}."))
    console.print(line(step_sentence(result.measurement), "bold"))
    for sentence in noise_sentences(result.measurement, result.profile):
        console.print(line(sentence))
    console.print(line(memory_sentence(result.measurement)))
    console.print(
        line(
            f"Took {units.format_seconds(result.wall_s)}. Page: {files.report} (open it in a browser); beside it "
            f"{files.profile}, {files.plan} and {files.measurement}."
        )
    )


def demonstration_object(result: Demonstration, files: Files) -> dict[str, Any]:
    """The same as one JSON object."""
    return {
        "local": plan_file_object(result.local),
        "large": plan_file_object(result.large),
        "measurement": measurement_object(result.measurement),
        "within_interval": result.measurement.within_interval,
        "wall_s": result.wall_s,
        "files": [str(path) for path in astuple(files)],
    }
