"""`planner export`: writes a plan as the configuration and launch files of a training framework."""

from __future__ import annotations

from pathlib import Path

import click

from planner.cli import options


@click.command()
@click.argument("plan", type=options.PATH, metavar="PLAN.JSON")
@click.option("--to", "target", required=True, metavar="TARGET", help="native, megatron or torchtitan.")
@click.option("--launcher", default="torchrun", show_default=True, metavar="L", help="Who starts the ranks.")
@click.option("-o", "--output", type=options.PATH, metavar="DIR", help="Folder.  [default: export-TARGET]")
@click.option("--force", is_flag=True, help="Overwrite files that no export wrote.")
@options.json_flag
def export(plan: Path, target: str, launcher: str, output: Path | None, force: bool, as_json: bool) -> None:
    """Write a plan for a training framework, pinned to one version of it.

    What the framework cannot say is refused, with the rule that forbids it.
    """
    from costmodel.spec import Verdict
    from costmodel.units import format_bytes
    from planner.cli.console import line, note, out, print_json
    from planner.documents import read_plan_file
    from planner.frameworks import registry
    from planner.frameworks.export import export as write_files

    plan_file = read_plan_file(plan)
    framework = registry.get(target)
    folder = output or Path(f"export-{target}")
    prediction = plan_file.prediction
    if prediction.verdict is Verdict.DOES_NOT_FIT:
        note(
            f"the plan does not fit: it needs {format_bytes(prediction.peak_memory_bytes)}, but a process may allocate "
            f"{format_bytes(prediction.memory_limit_bytes)}"
        )
    paths = write_files(plan_file, target, launcher, folder, force=force)
    if as_json:
        print_json(
            {
                "to": framework.name,
                "version": framework.version,
                "launcher": launcher,
                "plan_id": plan_file.plan.plan_id,
                "files": [str(path) for path in paths],
            }
        )
        return
    console = out()
    console.print(line(f"{framework.title} {framework.version}, launched by {launcher}:"))
    for path in paths:
        console.print(line(f"  {path}"), soft_wrap=True)
