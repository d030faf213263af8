"""Shipped clusters: published figures of common GPUs in their usual node, and of machines and instances by name.

Each is a file that a user could have written. The name of a GPU's device is the one its driver reports, so that a
device at hand finds its published figures; a machine names the preset of its GPU. A figure that nobody published is
null.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from costmodel.spec import Tier
from planner.clusters.quantities import with_units
from planner.clusters.strict_yaml import parse_shipped
from planner.names import meant

FOLDER = Path(__file__).parent / "presets"
"""GPUs; what a preset names beside it lies here as well."""
MACHINES = FOLDER / "machines"

UNPUBLISHED = {
    "cpu": "the speed of a CPU is not published per rank; measure this machine with `planner profile --device cpu` and "
    "leave --cluster out",
}
"""Names that one would expect, but that only a measurement can fill; each with the way to it."""

_DEVICE_NAME = re.compile(r"^  name: (.+)$", re.MULTILINE)
"""In the text of a preset: to read it is fast, to make numbers of its figures is not."""


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


@cache
def _gpu_of_device() -> dict[str, str]:
    """The preset of a GPU by the name that its driver reports."""
    texts = {name: (FOLDER / f"{name}.yaml").read_text(encoding="utf-8") for name in gpu_names()}
    return {found[1]: name for name, text in texts.items() if (found := _DEVICE_NAME.search(text)) is not None}


def similar(name: str, others: Sequence[str] = ()) -> tuple[str, ...]:
    """Presets, or `others`, that a `name` may mean: those whose names or devices' names hold it, else those like it."""
    devices = {device.lower(): gpu for device, gpu in _gpu_of_device().items()}
    return tuple(
        dict.fromkeys(devices.get(found, found) for found in meant(name, (*others, *preset_names(), *devices)))
    )


def hint(name: str) -> str:
    """What would do instead of a `name` that is no preset."""
    close = similar(name)
    return f"did you mean {', '.join(close)}" if close else "`planner clusters` lists the presets"


def preset_named(text: str) -> str | None:
    """The preset that `text` names: by its own name, or by that which the driver of its GPU reports.

    Upper and lower case are one. None where there is no such preset.
    """
    if text in preset_names():
        return text
    lower = text.strip().lower()
    if lower in preset_names():
        return lower
    return {device.lower(): gpu for device, gpu in _gpu_of_device().items()}.get(lower)


def preset_path(text: str) -> Path | None:
    """The file of the preset that `text` names, or None where there is no such preset."""
    name = preset_named(text)
    if name is None:
        return None
    return (FOLDER if name in gpu_names() else MACHINES) / f"{name}.yaml"


@cache
def preset_data(name: str) -> dict[str, Any]:
    """What the file of the preset `name` holds, quantities as numbers, not to be changed.

    Raises KeyError for another name.
    """
    path = preset_path(name)
    if path is None:
        raise KeyError(name)
    data = parse_shipped(path.read_text(encoding="utf-8"))
    return {key: with_units(key, value, f"preset {path.stem}") for key, value in data.items()}


def gpu_of(name: str) -> str:
    """The preset of the GPU that the preset `name` is or has."""
    device = preset_data(name)["device"]
    return device if isinstance(device, str) else str(preset_named(name))


def device_data(name: str) -> dict[str, Any]:
    """The figures of the GPU of the preset `name`; what nobody published is None."""
    device: dict[str, Any] = preset_data(gpu_of(name))["device"]
    return device


def preset_of_device(device_name: str) -> str | None:
    """The preset whose device the driver calls `device_name`; None where no figures are published."""
    return _gpu_of_device().get(device_name)


def shares_adapters(network: Tier) -> bool:
    """Whether the devices of a machine share its adapters, of the link between machines of a GPU's preset.

    Its note tells adapters "per node of 8", of which fewer devices have more, from those "per GPU".
    """
    return "per node of" in network.note


def usual_size(name: str) -> int:
    """Devices of one machine of the preset `name`: as it says, else as many as its innermost tier joins."""
    data = preset_data(name)
    return int(data.get("devices_per_node") or data["tiers"][0]["num_devices"])
