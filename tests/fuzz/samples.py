"""The configs that the fuzzer starts from: samples and presets that the reader accepts, by the class they name."""

from __future__ import annotations

import json
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

from costmodel.errors import BadInputError
from planner.models import presets
from planner.models.read import read_model

CONFIGS = Path(__file__).parents[1] / "models" / "configs"
PRESETS = Path(presets.__file__).parent / "presets"
MAX_BYTES = 64 * 2**10
TRIMMED_LAYERS = 4
LAYER_KEYS = ("num_hidden_layers", "num_layers", "n_layer", "n_layers", "depth")


@cache
def samples() -> dict[str, dict[str, Any]]:
    """Every accepted config that names its class, by file name."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted((*CONFIGS.glob("*.json"), *PRESETS.glob("*.json"))):
        data = _parsed(path)
        if data is not None and isinstance(data.get("architectures"), list) and _is_accepted(data):
            found[path.name] = data
    return found


@cache
def by_class() -> dict[str, tuple[str, ...]]:
    """File names of the samples of each class."""
    names: dict[str, list[str]] = defaultdict(list)
    for name, data in samples().items():
        names[data["architectures"][0]].append(name)
    return {architecture: tuple(files) for architecture, files in names.items()}


@cache
def rejected_texts() -> tuple[bytes, ...]:
    """Files among the samples that are refused: broken, unknown or of other schemas."""
    accepted = set(samples())
    files = [path for path in CONFIGS.rglob("*.json") if path.name not in accepted and path.stat().st_size <= MAX_BYTES]
    return tuple(path.read_bytes() for path in sorted(files))


def trimmed(data: dict[str, Any]) -> dict[str, Any]:
    """`data` with at most TRIMMED_LAYERS layers a stack, and lists with one entry a layer cut alike."""
    result = {key: trimmed(value) if isinstance(value, dict) else value for key, value in data.items()}
    for key in LAYER_KEYS:
        count = data.get(key)
        if type(count) is int and count > TRIMMED_LAYERS:
            result[key] = TRIMMED_LAYERS
            for name, value in result.items():
                if isinstance(value, list | str) and len(value) == count:
                    result[name] = value[:TRIMMED_LAYERS]
    return result if _is_accepted(result) or "architectures" not in data else data


def _parsed(path: Path) -> dict[str, Any] | None:
    if path.stat().st_size > MAX_BYTES:
        return None
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return None
    return data if isinstance(data, dict) else None


def _is_accepted(data: dict[str, Any]) -> bool:
    try:
        read_model(data, "sample", "sample")
    except BadInputError:
        return False
    return True
