"""`planner check`: predicts and judges a layout given by flags."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from planner.cli import options


@click.command()
@options.question_flags
@options.workload_flags
@options.layout_flags
@options.output("plan.json", "the plan file")
@options.json_flag
def check(output: Path, force: bool, as_json: bool, **flags: Any) -> None:
    """Predict and judge a layout; what is left out takes the framework's default.

    Exits 3 where the layout does not fit or breaks a rule, with the missing memory and the nearest plan.
    """
    from planner.cli.answering import judge_layout

    judge_layout(flags, output, force=force, as_json=as_json)
