"""The flags that several commands share, so that each is spelled and explained once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

PATH = click.Path(path_type=Path)


def json_flag(command: Command) -> Command:
    """`--json`: one object on stdout; messages and progress stay on stderr."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")(command)


def output(default: str, what: str) -> Callable[[Command], Command]:
    """`-o` and `--force`."""

    def add(command: Command) -> Command:
        command = click.option("--force", is_flag=True, help="Overwrite a file of another kind.")(command)
        return click.option(
            "-o", "--output", type=PATH, default=default, show_default=True, metavar="FILE", help=f"Where {what} goes."
        )(command)

    return add


def model_flag(default: str = "") -> Callable[[Command], Command]:
    """`--model`; `default` says what is taken where it is left out."""
    text = (
        "Name or Hub id of a preset, a Hugging Face config.json (file or folder), or module:factory, which is imported "
        "and returns the layers in order."
    )
    return click.option("--model", metavar="M", help=f"{text}  [default: {default}]" if default else text)


def question_flags(command: Command) -> Command:
    """What a plan is asked for: GPUs, model, machine, framework."""
    return _add(
        command,
        click.option("--gpus", type=int, required=True, metavar="N", help="Number of GPUs (or CPU ranks)."),
        model_flag(),
        click.option("--cluster", metavar="C", help="Preset name, or a YAML or JSON file."),
        click.option(
            "--profile",
            type=PATH,
            metavar="P",
            help="What `planner profile` measured. With neither model nor cluster: profile.json of this folder.",
        ),
        click.option("--framework", metavar="F", default="native", show_default=True, help="Who will run the plan."),
    )


def layout_flags(command: Command) -> Command:
    """The layout: fixed for `solve`, described for `check`. Values are checked by `planner.cli.layout`."""
    integers = (
        ("--tp", "Tensor-parallel degree."),
        ("--cp", "Context-parallel degree."),
        ("--ep", "Expert-parallel degree."),
        ("--pp", "Pipeline stages."),
        ("--vpp", "Virtual stages on each rank."),
        ("--dp", "Data-parallel degree."),
        ("--zero", "ZeRO stage, 0 to 3."),
        ("--micro-batch", "Sequences in a micro-batch."),
    )
    return _add(
        command,
        *(click.option(flag, type=int, metavar="N", help=text) for flag, text in integers),
        click.option("--schedule", metavar="S", help="Pipeline schedule: gpipe or 1f1b."),
        click.option("--recompute", metavar="R", help="Recompute of every block: none or full."),
    )


def workload_flags(command: Command) -> Command:
    """What is to be trained. Unset, they take defaults that the first line of the answer names."""
    return _add(
        command,
        click.option("--global-batch", type=int, metavar="N", help="Sequences in an optimizer step."),
        click.option("--seq-len", type=int, metavar="N", help="Tokens in a sequence."),
        click.option("--precision", metavar="P", help="bf16, fp16 or fp32."),
        click.option("--optimizer", metavar="O", help="adamw."),
        click.option("--method", metavar="M", help="pretrain."),
    )


def _add(command: Command, *options: Callable[[Command], Command]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command
