"""`planner report`: one HTML page about a plan, and about the run that tried it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from costmodel.errors import BadInputError
from planner.cli import options

if TYPE_CHECKING:
    from costmodel.spec import Measurement, PlanFile

DEFAULT_MEASUREMENT = "measurement.json"
REPORT_MARK = ": parallelism plan</title>"
"""Stands near the top of every page that `reports` renders."""


@click.command()
@click.argument("plan", type=options.PATH, metavar="PLAN.JSON")
@click.option(
    "--measurement",
    type=options.PATH,
    metavar="F",
    help="What a run showed.  [default: measurement.json beside the plan, if it belongs to it]",
)
@options.output("report.html", "the page")
@options.json_flag
def report(plan: Path, measurement: Path | None, output: Path, force: bool, as_json: bool) -> None:
    """Write one self-contained HTML page that a colleague can read."""
    from planner.cli.console import line, out, print_json
    from planner.documents import read_measurement, read_plan_file
    from planner.files import check_writable, refuse_same_file, write_text

    plan_file = read_plan_file(plan)
    measured = _run_beside(plan, plan_file) if measurement is None else read_measurement(measurement)
    check_writable(output, is_report, force=force)
    refuse_same_file(output, plan, *([] if measurement is None else [measurement]))

    from reports.page import render

    write_text(output, render(plan_file, measured))
    if as_json:
        plan_id = plan_file.plan.plan_id
        print_json({"file": str(output), "plan_id": plan_id, "with_measurement": measured is not None})
        return
    with_run = " with the measured run" if measured is not None else ""
    out().print(line(f"Written to {output}{with_run}; open it in a browser."), soft_wrap=True)


def _run_beside(plan: Path, plan_file: PlanFile) -> Measurement | None:
    """The run in the folder of the plan, unless it belongs to another plan file or cannot be read, which is noted."""
    from planner.cli.console import note
    from planner.documents import read_measurement

    path = plan.parent / DEFAULT_MEASUREMENT
    if not path.is_file():
        return None
    try:
        measured = read_measurement(path)
    except BadInputError as error:
        note(f"left out: {error}")
        return None
    if measured.question_id != plan_file.question_id:
        note(f"left out: {path} belongs to another plan file than {plan}; `planner run {plan}` makes one for this plan")
        return None
    return measured


def is_report(text: str) -> bool:
    """Whether `text` is a page that this command writes."""
    return REPORT_MARK in text[:4096]
