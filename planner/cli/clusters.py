"""`planner clusters`: the GPUs and machines that are known by name, with their published figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from planner.cli import options

if TYPE_CHECKING:
    from rich.table import Table

NAMES = ("GPU", "machine", "device", "GPUs")
"""Columns whose cells stay whole: names broken over lines can be neither copied nor searched for."""
DISPENSABLE = ("device", "USD per GPU and hour", "host memory", "per node", "other formats")
"""Columns that are left out one after the other where rows are too long for a line; `--json` has all."""


@click.command()
@options.json_flag
def clusters(as_json: bool) -> None:
    """List the presets that --cluster understands: GPUs in their usual node, then machines and instances."""
    from planner.cli.console import line, out, print_json, widest_that_fits
    from planner.clusters.listing import GPU_COLUMNS, MACHINE_COLUMNS, gpu_row, listed, machine_row
    from planner.clusters.presets import gpu_names, machine_names

    gpus, machines = [listed(name) for name in gpu_names()], [listed(name) for name in machine_names()]
    if as_json:
        print_json({"clusters": [*gpus, *machines]})
        return
    console = out()
    console.print(widest_that_fits(console, _tables(GPU_COLUMNS, [gpu_row(gpu) for gpu in gpus])))
    console.print()
    console.print(widest_that_fits(console, _tables(MACHINE_COLUMNS, [machine_row(machine) for machine in machines])))
    console.print()
    console.print(
        line("Links of GPUs are what collectives reach, adapters of machines their line rate; prices change.")
    )
    console.print(line("`planner show NAME` says more of one; --json lists all figures with their sources."))


def _tables(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[Table]:
    """The table with all columns, then with ever fewer."""
    from planner.cli.console import table

    chosen = [[*columns]]
    chosen += ([column for column in chosen[-1] if column != name] for name in DISPENSABLE if name in columns)
    return [
        table(tuple(left), [[row[columns.index(column)] for column in left] for row in rows], whole=NAMES)
        for left in chosen
    ]
