"""What is shown of a model: as a JSON object, and on one screen for a person."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from costmodel import units
from costmodel.capability import cautions
from costmodel.spec import LayerRun, ModelSpec
from planner.cli.console import line, print_assumptions, table
from planner.models.describe import describe_layer


def model_object(model: ModelSpec) -> dict[str, Any]:
    """Sizes of a model and its layers in order; `params_mtp` counts layers of multi-token prediction, which are not in
    `params_total`."""
    return {
        "name": model.name,
        "architecture": model.architecture,
        "params_total": model.params_total,
        "params_active": model.params_active,
        "params_by_part": model.params_by_part,
        "params_mtp": model.params_mtp,
        "num_layers": model.num_layers,
        "hidden": model.hidden,
        "vocab": model.vocab,
        "tied": model.tied,
        "max_seq_len": model.max_seq_len,
        "layers": [run.model_dump(mode="json", exclude_defaults=True) for run in model.runs],
        "assumptions": list(model.assumptions),
        "warnings": list(cautions(model)),
    }


def print_model(console: Console, model: ModelSpec) -> None:
    """A model on one screen: its size, its layers, what was assumed."""
    console.print(line(f"{model.name} ({model.architecture}): {model.params_total:,} parameters", "bold"))
    if model.params_active != model.params_total:
        console.print(line(f"One token meets {model.params_active:,} of them."))
    if model.params_mtp:
        console.print(line(f"Layers of multi-token prediction, not counted in: {model.params_mtp:,}."))
    console.print(
        line(
            f"{model.num_layers} block{'s' * (model.num_layers > 1)} of width {model.hidden:,}; "
            f"{'no vocabulary' if model.vocab is None else f'vocabulary {model.vocab:,}'}; "
            f"sequences up to {'any length' if model.max_seq_len is None else f'{model.max_seq_len:,} tokens'}."
        )
    )
    console.print(table(("part", "layers", "each", "parameters"), _layer_rows(model)))
    print_assumptions(console, (*model.assumptions, *cautions(model)))


def _layer_rows(model: ModelSpec) -> list[tuple[str, ...]]:
    """Equal layers of a part as one row, in the order they first come."""
    counts: dict[LayerRun, int] = {}
    for run in model.runs:
        key = run.model_copy(update={"count": 1})
        counts[key] = counts.get(key, 0) + run.count
    return [
        (run.part.value, str(count), describe_layer(run.layer), units.format_count(count * run.layer.num_params()))
        for run, count in counts.items()
    ]
