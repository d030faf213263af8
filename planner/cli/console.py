"""Where output goes: answers on stdout, messages and progress on stderr, and never more than a terminal can show."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from reports.text import visible

OnProgress = Callable[[float, str], None]
"""Hears the share done, in [0, 1], and what is being done."""

ENDLESS = 10_000
"""Columns of a terminal on which nothing has to be broken."""

STYLES = {"FITS": "bold green", "TIGHT": "bold yellow", "DOES_NOT_FIT": "bold red"}


def out() -> Console:
    """The console of the answer. rich follows NO_COLOR and the width of the terminal."""
    return Console(file=sys.stdout, highlight=False, markup=False, emoji=False)


@cache
def err() -> Console:
    """The console of messages and progress: one, so that a message does not tear a progress bar."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def note(message: str) -> None:
    """One message on stderr."""
    err().print(Text(visible(message)), soft_wrap=True)


def print_json(value: dict[str, Any]) -> None:
    """One object on stdout, in ASCII, so that no encoding of the terminal can spoil it."""
    sys.stdout.write(json.dumps(value, indent=2, allow_nan=False) + "\n")


def line(text: str, style: str = "") -> Text:
    """`text` as one paragraph, with hidden characters made visible."""
    return Text(visible(text), style=style)


def table(
    columns: tuple[str, ...], rows: Sequence[Sequence[str]], title: str | None = None, *, whole: Collection[str] = ()
) -> Table:
    """A plain table that wraps in narrow terminals; cells of the columns in `whole` stay on one line."""
    drawn = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        drawn.add_column(column, overflow="fold", header_style="bold", no_wrap=column in whole)
    for row in rows:
        drawn.add_row(*(line(cell) for cell in row))
    return drawn


def widest_that_fits(console: Console, tables: Sequence[Table]) -> Table:
    """The first of `tables` whose cells need not be broken on `console`, else the last one."""
    endless = console.options.update(width=ENDLESS)
    fitting = (drawn for drawn in tables if console.measure(drawn, options=endless).maximum <= console.width)
    return next(fitting, tables[-1])


@contextmanager
def progress(*, shown: bool = True) -> Iterator[OnProgress]:
    """A progress bar on stderr, for as long as the block runs.

    Where stderr is no terminal nothing is drawn, so that logs stay readable.
    """
    console = err()
    if not (shown and console.is_terminal):
        yield lambda _share, _what: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(bar_width=24), TextColumn("{task.percentage:>3.0f} %"), TimeElapsedColumn())
    with Progress(*columns, TextColumn("{task.description}", markup=False), console=console, transient=True) as bar:
        task = bar.add_task("", total=1.0)

        def update(share: float, what: str) -> None:
            bar.update(task, completed=min(max(share, 0.0), 1.0), description=visible(what))

        yield update


@contextmanager
def working(what: str, *, shown: bool = True) -> Iterator[Callable[[str], None]]:
    """A spinner on a terminal's stderr for work of unknown length; the block tells it how far it is."""
    console = err()
    if not (shown and console.is_terminal):
        yield lambda _detail: None
        return
    with console.status(line(what)) as status:
        yield lambda detail: status.update(line(f"{what}: {detail}"))


def part(whole: OnProgress, start: float, end: float) -> OnProgress:
    """Progress of one part of a longer way: its share [0, 1] becomes [start, end] of the whole."""
    return lambda share, what: whole(start + (end - start) * share, what)


def print_assumptions(console: Console, assumptions: tuple[str, ...]) -> None:
    """What nobody said or measured, as the first line: the defaults taken, then links and figures."""
    if assumptions:
        console.print(line(" ".join(assumptions), "dim"))
