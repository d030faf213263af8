"""What is shown of a model: as a JSON object, and on one screen for a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console

from costmodel import units
from costmodel.capability import cautions
from costmodel.spec import LayerRun, ModelSpec, Part
from planner.cli.console import line, print_assumptions, table
from planner.models.describe import describe_layer, stacks_of

SHOWN_TOKENS = 4096
"""Length over which the FLOP of layers that differ in nothing else are said."""


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
            f"{', '.join(map(str, stacks_of(model)))}; "
            f"{'no vocabulary' if model.vocab is None else f'vocabulary {model.vocab:,}'}; "
            f"sequences up to {'any length' if model.max_seq_len is None else f'{model.max_seq_len:,} tokens'}."
        )
    )
    console.print(table(("part", "layers", "each", "parameters, all"), _layer_rows(model), whole=("part",)))
    print_assumptions(console, (*model.assumptions, *cautions(model)))


def _layer_rows(model: ModelSpec) -> list[tuple[str, ...]]:
    """Equal layers of a part as one row, in the order they first come; rows that would look alike say what differs."""
    counts: dict[LayerRun, int] = {}
    for run in model.runs:
        key = run.model_copy(update={"count": 1})
        counts[key] = counts.get(key, 0) + run.count
    alike: dict[tuple[Part, str], list[LayerRun]] = {}
    for run in counts:
        alike.setdefault((run.part, describe_layer(run.layer)), []).append(run)
    rows = {}
    for (part, phrase), runs in alike.items():
        for run, detail in zip(runs, _differences(runs), strict=True):
            params = units.format_count(counts[run] * run.layer.num_params())
            rows[run] = (part.value, str(counts[run]), phrase + detail, params)
    return [rows[run] for run in counts]


def _differences(runs: Sequence[LayerRun]) -> Sequence[str]:
    """What tells apart layers that are described alike: the first of parameters, tokens, FLOP in which all differ."""
    for tell in (_params, _tokens, _flop):
        details = [f", {tell(run)}" for run in runs]
        if len(runs) == len(set(details)) > 1:
            return details
    return [""] * len(runs)


def _params(run: LayerRun) -> str:
    return f"{run.layer.num_params():,} parameters each"


def _tokens(run: LayerRun) -> str:
    return "every token of the sequence" if run.num_tokens is None else f"{run.num_tokens:,} tokens"


def _flop(run: LayerRun) -> str:
    flop = sum(op.flop for op in run.layer.operations(1, SHOWN_TOKENS))
    return f"{units.format_count(flop)} FLOP forward over {SHOWN_TOKENS:,} tokens"
