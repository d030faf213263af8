"""The device of a cluster file: figures, the name of a preset, or a preset with some figures of one's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from costmodel.errors import BadInputError
from costmodel.spec import Device, Source
from costmodel.spec.device import FIGURES
from costmodel.spec.shown import shown
from planner.clusters.presets import device_data, hint, preset_path

DEFAULT_EFFICIENCY = {"gemm_efficiency_frac": 0.75, "attention_efficiency_frac": 0.5}
"""Shares of the peak taken where nobody measured them: conventions, fitted to nothing, and named wherever they count.
Presets that have such shares lie around them: medians 0.80 of 20 devices and 0.42 of 17."""

STATED = "stated in the file that names the device"
"""The source of a figure that a file states beside others of a preset, or beside some that are assumed."""

EXAMPLES = {
    "name": "MyGPU",
    "kind": "cuda",
    "peak_flop_per_s": "{bf16: 100 TFLOP/s}",
    "memory_bytes": "48 GiB",
    "mem_bandwidth_bytes_per_s": "1 TB/s",
}
"""What every device must have, as it may be written."""


def read_device(given: Any, where: str) -> tuple[Device, tuple[str, ...]]:
    """The device that `given` stands for, and sentences on what was assumed of it.

    Raises BadInputError for an unknown preset, a figure that is faulty, or one that nobody published.
    """
    if isinstance(given, str):
        given = {"preset": given}
    if not isinstance(given, Mapping):
        raise BadInputError(f"{where}: device is {shown(given)}, but must be a preset's name or a device's figures")
    own = {key: value for key, value in given.items() if value is not None}
    preset = own.pop("preset", None)
    published = _published(preset, where) if preset is not None else {}
    figures = {**published, **own}
    missing = [key for key in EXAMPLES if key not in figures]
    if preset is not None and missing:
        raise BadInputError(
            f"{where}: nobody published {' and '.join(missing)} of {figures.get('name', preset)}; give it beside the "
            f"preset, e.g. device: {{preset: {preset}, {_written(missing)}}}"
        )
    if missing:
        raise BadInputError(
            f"{where}: device lacks {' and '.join(missing)}; name a preset, or add them, e.g. {_written(missing)}"
        )
    assumed = {key: share for key, share in DEFAULT_EFFICIENCY.items() if key not in figures}
    figures |= assumed
    if preset is not None or assumed:
        figures["sources"] = _sources(published, own)
    if assumed:
        figures["source"] = Source.ASSUMED
    figures.setdefault("source", Source.ASSUMED)
    device = Device.from_data(figures, f"{where}: device")
    sentences = [
        f"{key} of {device.name} is assumed to be {share}: nobody measured it." for key, share in assumed.items()
    ]
    return device, tuple(sentences)


def _sources(published: Mapping[str, Any], own: Mapping[str, Any]) -> Any:
    """Where the figures of a preset come from that are left, and those that a file states."""
    stated = own.get("sources", {})
    if not isinstance(stated, Mapping):
        return stated
    kept = {name: text for name, text in published.get("sources", {}).items() if name not in own}
    return {**kept, **{name: STATED for name in own if name in FIGURES}, **stated}


def _written(keys: Sequence[str]) -> str:
    return ", ".join(f"{key}: {EXAMPLES[key]}" for key in keys)


def _published(preset: Any, where: str) -> dict[str, Any]:
    """The figures of a preset's device; what nobody published is absent."""
    if not isinstance(preset, str) or preset_path(preset) is None:
        raise BadInputError(f"{where}: device is {shown(preset)}, but must be a preset; {hint(str(preset))}")
    return {key: value for key, value in device_data(preset).items() if value is not None}
