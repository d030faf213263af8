"""`planner demo`: the whole way on this machine, from a profile to a page that compares prediction and run."""

from __future__ import annotations

from pathlib import Path

import click

from planner.cli import options

LARGE_MODEL = "llama-3-8b"
LARGE_CLUSTER = "h100-sxm"
LARGE_GPUS = 64
STEPS = 20
PROFILE_BUDGET_S = 30.0


@click.command()
@click.option("--device", default="auto", show_default=True, metavar="D", help="auto, cpu or cuda.")
@click.option("--nproc", type=int, metavar="N", help="Ranks.  [default: all GPUs, or the cores of a CPU]")
@click.option("--force", is_flag=True, help="Overwrite files of another kind.")
@options.json_flag
def demo(device: str, nproc: int | None, force: bool, as_json: bool) -> None:
    """Profile, solve, train and report a small model here, in under two minutes.

    Beside it, an 8B model of the same family is planned for 64 H100 from published figures. Leaves profile.json,
    plan.json, measurement.json and report.html in the current folder, and says whether the measured step time lies
    in the predicted interval.
    """
    from planner.cli.console import out, print_json, progress
    from planner.cli.demonstration import Files, demonstrate, demonstration_object, print_demonstration

    files = Files(Path("profile.json"), Path("plan.json"), Path("measurement.json"), Path("report.html"))
    with progress(shown=not as_json) as on_progress:
        result = demonstrate(files, device, nproc, force=force, on_progress=on_progress)
    if as_json:
        print_json(demonstration_object(result, files))
    else:
        print_demonstration(out(), result, files)
