"""A click group that knows its commands by name, loads each when it is called, and takes no empty values for it."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass

import click


@dataclass(frozen=True)
class LazyCommand:
    """Where a command stands, and the line that `planner --help` shows of it."""

    module: str
    attribute: str
    summary: str


class LazyGroup(click.Group):
    """Lists its commands without importing them."""

    def __init__(self, *args: object, lazy: Mapping[str, LazyCommand], **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self._lazy = dict(lazy)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Names in the order of a first use, not of the alphabet."""
        return list(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command, loaded now; None where there is none of that name."""
        if cmd_name not in self._lazy:
            return None
        lazy = self._lazy[cmd_name]
        command = getattr(importlib.import_module(lazy.module), lazy.attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that `args` name; raises click.UsageError for an empty text among its values."""
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            _refuse_empty(click.Context(command, parent=ctx, info_name=name), rest)
        return name, command, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The list in `--help`, from the summaries here."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, lazy.summary) for name, lazy in self._lazy.items()])


def _refuse_empty(ctx: click.Context, arguments: list[str]) -> None:
    """An empty text is what a shell makes of a variable that is not set; as a path it would be the current folder."""
    given, _, _ = ctx.command.make_parser(ctx).parse_args(list(arguments))
    for parameter in ctx.command.params:
        value = given.get(parameter.name or "")
        if isinstance(value, str) and not value.strip():
            what = parameter.opts[0] if isinstance(parameter, click.Option) else f"the {parameter.human_readable_name}"
            raise click.UsageError(
                f"{what} is empty; give a value{'' if parameter.required else ' or leave it out'}", ctx
            )
