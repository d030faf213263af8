"""Shipped clusters: published figures of common GPUs in their usual node, each a file a user could have written.

The name of a preset's device is the one its driver reports, so that a device at hand finds its published figures.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent / "presets"

UNPUBLISHED = {
    "cpu": "the speed of a CPU is not published per rank; measure this machine with `planner profile --device cpu` and "
    "leave --cluster out",
}
"""Names that one would expect, but that only a measurement can fill; each with the way to it."""


def preset_names() -> tuple[str, ...]:
    """Names that `--cluster` understands, sorted."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


def preset_path(name: str) -> Path | None:
    """The file of the preset `name`, or None where there is no such preset."""
    return FOLDER / f"{name}.yaml" if name in preset_names() else None
