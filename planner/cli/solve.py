"""`planner solve`: the best plan for a job, with its certificate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from planner.cli import options


@click.command()
@options.question_flags
@options.workload_flags
@options.layout_flags
@click.option("--allow-tight", is_flag=True, help="Also take a plan whose memory interval crosses the limit.")
@click.option("--time-limit", type=float, metavar="S", help="Seconds to search; the certificate then says the gap.")
@options.output("plan.json", "the plan file")
@options.json_flag
def solve(output: Path, force: bool, as_json: bool, allow_tight: bool, time_limit: float | None, **flags: Any) -> None:
    """Find the best plan, with a proof, an error bar and the reasons.

    Layout flags fix a choice; what is left out is searched. Exits 3 where nothing fits, with the rule and the
    nearest plan that does.
    """
    from planner.cli.answering import answer_question

    answer_question(flags, output, force=force, as_json=as_json, allow_tight=allow_tight, time_limit_s=time_limit)
