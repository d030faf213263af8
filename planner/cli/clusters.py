"""`planner clusters`: the GPUs and machines that are known by name, with their published figures."""

from __future__ import annotations

import click

from planner.cli import options


@click.command()
@options.json_flag
def clusters(as_json: bool) -> None:
    """List the presets that --cluster understands: GPUs in their usual node, then machines and instances."""
    from planner.cli.console import line, out, print_json, table
    from planner.clusters.listing import GPU_COLUMNS, MACHINE_COLUMNS, gpu_row, listed, machine_row
    from planner.clusters.presets import gpu_names, machine_names

    gpus, machines = [listed(name) for name in gpu_names()], [listed(name) for name in machine_names()]
    if as_json:
        print_json({"clusters": [*gpus, *machines]})
        return
    console = out()
    console.print(table(GPU_COLUMNS, [gpu_row(gpu) for gpu in gpus]))
    console.print()
    console.print(table(MACHINE_COLUMNS, [machine_row(machine) for machine in machines]))
    console.print()
    console.print(
        line("Links of GPUs are what collectives reach, adapters of machines their line rate; prices change.")
    )
    console.print(line("`planner show NAME` says more of one; --json lists all figures with their sources."))
