"""Shipped model configs: each a plain Hugging Face `config.json` in `presets/`, its origin in `preset_sources.yaml`."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "presets"
SOURCES = Path(__file__).parent / "preset_sources.yaml"

DEMO_MODEL = "llama-demo-6m"
"""The small model of `planner demo`, and what `planner profile` measures where no model is named."""

EXAMPLES = (
    "llama-3-8b, mixtral-8x7b, qwen3-30b-a3b, deepseek-v3, gpt2-xl, bert-large, t5-11b, vit-huge, whisper-large-v3"
)
"""Some of many, for messages."""

WORD = re.compile(r"[a-z]+|\d+(?:\.\d+)*|[^ _-]")
"""What a name consists of, whatever stands between: letters, a number, or any other character."""


def preset_names() -> tuple[str, ...]:
    """Names that `--model` understands, sorted."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.json")))


def preset_path(text: str) -> Path | None:
    """The config of the preset that `text` names, or None where there is no such preset.

    Its name wins over a file that is called so. A file wins over the same name spelled otherwise (case, `-`, `_` or
    nothing between letters and numbers, as in `Llama3-8B`) and over the id of its repository on the Hub.
    """
    names = preset_names()
    name: str | None = text
    if name not in names:
        if os.path.lexists(text):
            return None
        spelled = {_words(known): known for known in names}
        name = spelled.get(_words(text)) or _of_repository(text)
    return FOLDER / f"{name}.json" if name else None


def _words(name: str) -> tuple[str, ...]:
    return tuple(WORD.findall(name.lower()))


def _of_repository(hub_id: str) -> str | None:
    """The preset whose shape the repository `hub_id` has."""
    return _presets_by_repository().get(hub_id.lower())


@cache
def preset_sources() -> dict[str, dict[str, Any]]:
    """By name of the preset: `source`, `hub` (repositories with its shape), `params_total`."""
    # Imported and read only here: it takes longer than all else that naming a preset needs.
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    sources: dict[str, dict[str, Any]] = yaml.load(SOURCES.read_text(encoding="utf-8"), Loader=loader)
    return sources


@cache
def _presets_by_repository() -> dict[str, str]:
    return {hub_id.lower(): name for name, source in preset_sources().items() for hub_id in source.get("hub", ())}
