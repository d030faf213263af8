"""`planner report`: one HTML page about a plan, and about the run that tried it."""

from __future__ import annotations

from pathlib import Path

import click

from planner.cli import options

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
    from planner.files import check_writable, read_measurement, read_plan_file, write_text

    plan_file = read_plan_file(plan)
    measured = read_measurement(measurement) if measurement is not None else None
    if measured is None:
        beside = plan.parent / "measurement.json"
        candidate = read_measurement(beside) if beside.is_file() else None
        if candidate is not None and candidate.plan_id == plan_file.plan.plan_id:
            measured = candidate
    check_writable(output, is_report, force=force)

    from reports.page import render

    write_text(output, render(plan_file, measured))
    if as_json:
        plan_id = plan_file.plan.plan_id
        print_json({"file": str(output), "plan_id": plan_id, "with_measurement": measured is not None})
        return
    with_run = " with the measured run" if measured is not None else ""
    out().print(line(f"Written to {output}{with_run}; open it in a browser."), soft_wrap=True)


def is_report(text: str) -> bool:
    """Whether `text` is a page that this command writes."""
    return REPORT_MARK in text[:4096]
