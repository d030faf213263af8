"""Reads the configs of these tests: those of `tests/models/configs` with changes, and small ones written out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from costmodel.spec import ModelSpec
from planner.models.read import read_model

CONFIGS = Path(__file__).parent.parent / "configs"


def read(architecture: str, **keys: Any) -> ModelSpec:
    """The model that a config with these keys describes."""
    return read_model({"architectures": [architecture], **keys}, "here", "small")


def read_file(name: str, **changes: Any) -> ModelSpec:
    """The model of a config in a file; `section__key` changes a nested key, `...` removes one."""
    data = json.loads((CONFIGS / f"{name}.json").read_text(encoding="utf-8"))
    for path, value in changes.items():
        *sections, key = path.split("__")
        place = data
        for section in sections:
            place = place[section]
        place.pop(key, None)
        if value is not ...:
            place[key] = value
    return read_model(data, "here", name)
