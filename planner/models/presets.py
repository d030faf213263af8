"""Shipped model configs: each a plain Hugging Face `config.json` in `presets/`, its origin in `preset_sources.yaml`."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent / "presets"

DEMO_MODEL = "llama-demo-6m"
"""The small model of `planner demo`, and what `planner profile` measures where no model is named."""


def preset_names() -> tuple[str, ...]:
    """Names that `--model` understands, sorted."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.json")))


def preset_path(name: str) -> Path | None:
    """The config of the preset `name`, or None where there is no such preset."""
    return FOLDER / f"{name}.json" if name in preset_names() else None
