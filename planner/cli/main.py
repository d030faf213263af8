"""The console entry: the list of commands, and what becomes of every error.

An error that a user can cause is one sentence on stderr and its exit code. Anything else is a defect of ours: it
prints a traceback and exits 1, and this is the only place that catches `Exception`. The exit codes stand in README.md.
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import NoReturn

import click

from costmodel.errors import EXIT_BAD_INPUT, EXIT_DEFECT, EXIT_OK, PlannerError
from planner.cli.lazy import LazyCommand, LazyGroup
from planner.cli.streams import ReaderLeftError, arrange_streams

EXIT_INTERRUPTED = 130
"""128 + SIGINT, as shells report it."""
EXIT_BROKEN_PIPE = 141
"""128 + SIGPIPE: the reader of our output left."""

MAX_SENTENCE_CHARS = 2000

COMMANDS = {
    name: LazyCommand(f"planner.cli.{name}", name, summary)
    for name, summary in {
        "profile": "Measure layers, memory and links on this machine.",
        "solve": "Find the best plan, with a proof and an error bar.",
        "check": "Predict and judge a layout given by flags.",
        "show": "Say what was understood from a file.",
        "models": "List the models that are known by name.",
        "clusters": "List the GPUs and machines that are known by name.",
        "run": "Train with a plan and compare with the prediction.",
        "report": "Write one HTML page about a plan.",
        "export": "Write a plan as the files of a training framework.",
        "validate": "Predict published runs and say how far off that is.",
        "demo": "The whole way on this machine, in under two minutes.",
    }.items()
}


def version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    """Print the version of the installed distribution and leave."""
    if wanted:
        from importlib.metadata import version as version_of

        click.echo(f"planner {version_of('parallelism-planner')}")
        ctx.exit()


@click.group(cls=LazyGroup, lazy=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=version, help="Show the version.")
def cli() -> None:
    """Plans, proves and runs the parallel layout of large-model training.

    A first use: `planner demo`, or `planner profile`, then `planner solve --gpus 64`, then `planner report plan.json`.
    """


def main() -> NoReturn:
    """Run the command line and exit with the code that README.md lists."""
    arrange_streams()
    # pydantic would look through every installed distribution for plugins, of which planner uses none.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    code = run(sys.argv[1:])
    # Exit handlers of code that is not ours may print too.
    sys.stdout = sys.stderr
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """The exit code of `planner` with `arguments`."""
    try:
        return _call(arguments)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return EXIT_BAD_INPUT
    except click.ClickException as error:
        say(_usage_sentence(error))
        return EXIT_BAD_INPUT
    except PlannerError as error:
        say(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        say("interrupted")
        return EXIT_INTERRUPTED
    except ReaderLeftError:
        return EXIT_BROKEN_PIPE
    except Exception:  # noqa: BLE001
        traceback.print_exc()
        say("this is a defect of planner itself, not of your input; please report it with the lines above")
        return EXIT_DEFECT


def _call(arguments: list[str]) -> int:
    # Not cli.main(): it takes every broken pipe, also one to a rank, for a reader of stdout that left.
    code = EXIT_OK
    try:
        with cli.make_context("planner", arguments) as context:
            cli.invoke(context)
    except click.exceptions.Exit as wanted:
        code = wanted.exit_code
    sys.stdout.flush()
    return code


def _usage_sentence(error: click.ClickException) -> str:
    context = error.ctx if isinstance(error, click.UsageError) else None
    message = error.format_message().rstrip(".")
    message = message[:1].lower() + message[1:]
    return message if context is None else f"{message}; see `{context.command_path} --help`"


def say(sentence: str) -> None:
    """One line on stderr, of bounded length and without the control characters of a file name or value."""
    line = "".join(character if character.isprintable() else "?" for character in " ".join(sentence.split()))
    if len(line) > MAX_SENTENCE_CHARS:
        # What is wrong stands first and what would do last; the value at fault is what makes a sentence long.
        line = f"{line[: MAX_SENTENCE_CHARS // 2]} ... {line[-MAX_SENTENCE_CHARS // 2 :]}"
    click.echo(f"planner: {line}", err=True)
