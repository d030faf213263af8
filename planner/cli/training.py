"""Trains with a plan on the ranks of this machine: what `run` and `demo` share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from costmodel.errors import PlannerError
from costmodel.spec import Measurement, PlanFile
from planner.cli.console import OnProgress, note
from planner.cli.device import find_device

SHIPPED_TEXT = Path(__file__).parents[1] / "data" / "liberty.txt"
"""Public-domain English prose, for runs without data of their own."""


@contextmanager
def said_once() -> Iterator[None]:
    """Among ranks that a launcher started, lets the first of each computer say what all of them meet.

    What a user did wrong (a plan, a number, a missing text, a launcher's variable) every rank finds for itself or hears
    from rank 0; a computer may lack what the others have, so each has one rank that speaks. The other ranks leave with
    the same exit code and no word. A failure of one rank is always said.
    """
    try:
        yield
    except PlannerError as error:
        from executor.failures import RankFailedError
        from executor.launcher import is_first_of_its_computer

        if is_first_of_its_computer() or isinstance(error, RankFailedError):
            raise
        raise click.exceptions.Exit(error.exit_code) from None


def is_reporting_rank() -> bool:
    """Whether this process prints and writes: alone it does; among ranks that a launcher started, rank 0 does."""
    from executor.launcher import current_launcher

    launcher = current_launcher()
    return launcher is None or launcher.rank == 0


def train(
    plan_file: PlanFile,
    data: Path | None,
    *,
    steps: int,
    seed: int,
    lr: float,
    device: str,
    on_progress: OnProgress,
    check_output: Callable[[], None] | None = None,
) -> Measurement | None:
    """Run `steps` steps; returns what was measured, or None on ranks of a launcher other than 0.

    `check_output` raises where the measurement cannot be written; it is called before the training, by the one process
    that gets the measurement.
    """
    from executor.run import run

    planned, here = plan_file.cluster.device, find_device(device)
    if planned.kind is not here and is_reporting_rank():
        note(f"the plan was made for {planned.name}, but runs on {here.value} here: its prediction does not hold")

    def on_step(step: int, loss: float, step_time_s: float) -> None:
        on_progress((step + 1) / steps, f"step {step + 1} of {steps}, loss {loss:.3f}, {step_time_s:.2f} s")

    return run(
        plan_file,
        data=data or SHIPPED_TEXT,
        steps=steps,
        seed=seed,
        lr=lr,
        device=device,
        check_output=check_output,
        on_step=on_step,
        notify=note,
    )
