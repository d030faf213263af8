"""Shipped clusters: published figures of common GPUs in their usual node, and of machines and instances by name.

Each is a file that a user could have written. The name of a GPU's device is the one its driver reports, so that a
device at hand finds its published figures; a machine names the preset of its GPU. A figure that nobody published is
null.
"""

from __future__ import annotations

import difflib
from functools import cache
from pathlib import Path
from typing import Any

from planner.clusters.quantities import with_units
from planner.clusters.strict_yaml import parse_shipped

FOLDER = Path(__file__).parent / "presets"
"""GPUs; what a preset names beside it lies here as well."""
MACHINES = FOLDER / "machines"

UNPUBLISHED = {
    "cpu": "the speed of a CPU is not published per rank; measure this machine with `planner profile --device cpu` and "
    "leave --cluster out",
}
"""Names that one would expect, but that only a measurement can fill; each with the way to it."""

MAX_HINTS = 5


@cache
def gpu_names() -> tuple[str, ...]:
    """Names of the presets of GPUs, sorted."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


@cache
def machine_names() -> tuple[str, ...]:
    """Names of the presets of machines and instances, sorted."""
    return tuple(sorted(path.stem for path in MACHINES.glob("*.yaml")))


@cache
def preset_names() -> tuple[str, ...]:
    """Names that `--cluster` understands, sorted."""
    return tuple(sorted((*gpu_names(), *machine_names())))


def hint(name: str) -> str:
    """What would do instead of a `name` that is no preset: the presets that hold it, else those spelled alike."""
    lower = name.lower()
    holding = [known for known in preset_names() if lower in known] if len(lower) > 1 else []
    close = sorted(holding, key=lambda known: not known.startswith(lower)) or difflib.get_close_matches(
        lower, preset_names(), n=3
    )
    return f"did you mean {', '.join(close[:MAX_HINTS])}" if close else "`planner clusters` lists the presets"


def preset_path(name: str) -> Path | None:
    """The file of the preset `name`, or None where there is no such preset."""
    if name in gpu_names():
        return FOLDER / f"{name}.yaml"
    return MACHINES / f"{name}.yaml" if name in machine_names() else None


@cache
def preset_data(name: str) -> dict[str, Any]:
    """What the file of the preset `name` holds, quantities as numbers, not to be changed.

    Raises KeyError for another name.
    """
    path = preset_path(name)
    if path is None:
        raise KeyError(name)
    data = parse_shipped(path.read_text(encoding="utf-8"))
    return {key: with_units(key, value, f"preset {name}") for key, value in data.items()}


def gpu_of(name: str) -> str:
    """The preset of the GPU that the preset `name` is or has."""
    return name if name in gpu_names() else str(preset_data(name)["device"])


def device_data(name: str) -> dict[str, Any]:
    """The figures of the GPU of the preset `name`; what nobody published is None."""
    device: dict[str, Any] = preset_data(gpu_of(name))["device"]
    return device


def preset_of_device(device_name: str) -> str | None:
    """The preset whose device the driver calls `device_name`; None where no figures are published."""
    for name in gpu_names():
        # Reading a file is fast, making numbers of its figures is not.
        text = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
        if device_name in text and device_data(name)["name"] == device_name:
            return name
    return None


def usual_size(name: str) -> int:
    """Devices of one machine of the preset `name`: as it says, else as many as its innermost tier joins."""
    data = preset_data(name)
    return int(data.get("devices_per_node") or data["tiers"][0]["num_devices"])
