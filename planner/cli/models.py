"""`planner models`: the models that are known by name, with their sizes and where their shapes were published."""

from __future__ import annotations

from typing import Any

import click

from planner.cli import options


@click.command()
@options.json_flag
def models(as_json: bool) -> None:
    """List the presets that --model understands, and the classes of config.json that are read."""
    from planner.cli.console import line, out, print_json, table, widest_that_fits
    from planner.models.families import families, listed_families
    from planner.models.presets import preset_names

    presets = [_preset(name) for name in preset_names()]
    architectures = sorted({family.architecture for family in families()})
    if as_json:
        print_json({"models": presets, "architectures": architectures})
        return
    rows = [(preset["name"], _size(preset), "; ".join(preset["stacks"]), preset["architecture"]) for preset in presets]
    console = out()
    # Names broken over lines can be neither copied nor searched for, so rows too long for a line lose their class.
    whole = ("preset", "parameters", "class")
    wide = table(("preset", "parameters", "blocks", "class"), rows, whole=whole)
    narrow = table(("preset", "parameters", "blocks"), [row[:-1] for row in rows], whole=whole)
    console.print(widest_that_fits(console, (wide, narrow)))
    console.print()
    listed = sorted({family.architecture for family in listed_families()})
    console.print(line(f"Classes that are read from a config.json ({len(listed)}): {', '.join(listed)}.", "dim"))
    console.print(
        line(
            f"So are the classes that transformers has of these without a head, or with one that scores sequences, "
            f"tokens or answers ({len(architectures) - len(listed)}), e.g. LlamaForSequenceClassification.",
            "dim",
        )
    )
    console.print(
        line("`planner show PRESET` says more of a preset; --json lists classes, sources and repositories too.")
    )


def _preset(name: str) -> dict[str, Any]:
    """A preset with its sizes and origin."""
    from planner.models.describe import stacks_of
    from planner.models.presets import preset_sources
    from planner.models.read import load_model

    spec, origin = load_model(name).spec, preset_sources()[name]
    return {
        "name": name,
        "architecture": spec.architecture,
        "params_total": spec.params_total,
        "params_active": spec.params_active,
        "num_layers": spec.num_layers,
        "hidden": spec.hidden,
        "stacks": [stack.short for stack in stacks_of(spec)],
        "max_seq_len": spec.max_seq_len,
        "source": origin["source"],
        "hub": origin.get("hub", []),
    }


def _size(preset: dict[str, Any]) -> str:
    from costmodel import units

    total, active = preset["params_total"], preset["params_active"]
    return units.format_count(total) + ("" if total == active else f", {units.format_count(active)} active")
