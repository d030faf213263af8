"""`planner validate`: predicts published runs and scores itself."""

from __future__ import annotations

from pathlib import Path

import click

from planner.cli import options


@click.command()
@click.argument("runs", type=options.PATH, metavar="RUNS.CSV")
@options.output("predictions.csv", "the table of predictions")
@click.option("--report", type=options.PATH, metavar="OUT.HTML", help="Write a page with charts and tables as well.")
@options.json_flag
def validate(runs: Path, output: Path, force: bool, report: Path | None, as_json: bool) -> None:
    """Predict published, measured runs from their configuration, and say how far off the predictions are.

    RUNS.CSV has the columns of benchmarks/published/runs.csv. Measured columns are looked at to score, never to
    predict; without them there are predictions only.
    """
    from planner.cli.console import note, out, print_json, progress
    from planner.cli.validation_object import validation_object
    from planner.cli.validation_tables import print_validation
    from planner.files import check_writable, refuse_same_file, write_text
    from planner.validation.answers import answer_all
    from planner.validation.output import is_predictions, predictions_csv
    from planner.validation.scores.summary import score
    from planner.validation.table import read_runs

    table = read_runs(runs)
    check_writable(output, is_predictions, force=force)
    refuse_same_file(output, runs)
    if report is not None:
        _check_report(report, runs, output, force)
    count = len(table.runs)
    with progress(shown=not as_json) as update:
        answers = answer_all(
            (run.configuration for run in table.runs), lambda done: update(done / count, f"run {done} of {count}")
        )
    write_text(output, predictions_csv(table.runs, answers))
    scores = score(table.runs, answers)
    if report is not None:
        from planner.cli.validation_page import validation_page

        write_text(report, validation_page(runs.name, answers, scores))
    if as_json:
        print_json(validation_object(str(output), answers, scores))
        return
    print_validation(out(), table, answers, scores)
    note(f"Predictions written to {output}{'' if report is None else f', the page to {report}'}.")


def _check_report(report: Path, runs: Path, output: Path, force: bool) -> None:
    """Raise BadInputError where the page cannot be written, or would replace another file of this call."""
    from costmodel.errors import BadInputError
    from planner.files import check_writable, refuse_same_file

    remedy = "give another --report"
    if report.absolute() == output.absolute():
        raise BadInputError(f"output {report}: is named for predictions and page alike; {remedy}")
    check_writable(report, is_validation_page, force=force, remedy=remedy)
    refuse_same_file(report, runs, remedy=remedy)


def is_validation_page(text: str) -> bool:
    """Whether `text` is a page that this command writes."""
    return ": predictions of published runs</title>" in text[:4096]
