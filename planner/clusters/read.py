"""Reads a cluster from a preset name or a YAML or JSON file, and fits it to the number of GPUs asked for.

A cluster file is a `cluster/1` document in which quantities may be written with units ("80 GiB", "400 Gbit/s"),
`device` may name a preset whose device is meant, `num_devices` may be left out (it comes from --gpus), and the
outermost tier may leave out its `num_devices` (it joins any number).
"""

from __future__ import annotations

import difflib
import hashlib
import os
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from costmodel.errors import BadInputError, MissingError
from costmodel.spec import ClusterSpec, Device, Source
from costmodel.spec.base import parse_json
from costmodel.units import parse_bytes, parse_flop_rate, parse_rate, parse_seconds
from planner.clusters.presets import UNPUBLISHED, preset_names, preset_path
from planner.clusters.resize import MAX_GPUS, check_num_gpus, resize
from planner.files import is_there, read_text

MAX_CLUSTER_BYTES = 2**15
"""A cluster takes about 2 KiB, and YAML is read slowly."""
MAX_NUMBER = 2**63
MAX_DEPTH = 16
MAX_BRACKETS = 500

PARSERS: dict[str, Callable[[str, str], float]] = {
    "memory_bytes": parse_bytes,
    "memory_reserved_bytes": parse_bytes,
    "mem_bandwidth_bytes_per_s": parse_rate,
    "bandwidth_bytes_per_s": parse_rate,
    "latency_s": parse_seconds,
    "peak_flop_per_s": parse_flop_rate,
}
"""Keys whose values may be written as text with a unit; a mapping under such a key is read value by value."""

RANGES = {
    "memory_bytes": (1e6, 1e15),
    "mem_bandwidth_bytes_per_s": (1e6, 1e18),
    "bandwidth_bytes_per_s": (1e3, 1e18),
    "latency_s": (1e-12, 10.0),
    "peak_flop_per_s": (1e6, 1e21),
    "gemm_efficiency_frac": (1e-3, 1.0),
    "attention_efficiency_frac": (1e-3, 1.0),
    "num_devices": (1, MAX_GPUS),
}
"""Smallest and largest value of a key, far beyond any machine there is: outside of them a unit was mistaken."""


@dataclass(frozen=True)
class LoadedCluster:
    """A cluster as it was read, fitted to the number of GPUs."""

    spec: ClusterSpec
    sha256: str
    where: str
    assumptions: tuple[str, ...]
    """Sentences on what nobody measured."""


def load_cluster(text: str, num_gpus: int | None) -> LoadedCluster:
    """`num_gpus` devices of the cluster that `text` names: a preset, or a YAML or JSON file with schema cluster/1.

    None means all the devices that a file states, or two nodes where it states no number.
    Raises BadInputError for an unknown name (with close matches), a faulty file, a number of GPUs below 1 or above
    what the file joins; MissingError for `cpu`, which has to be measured.
    """
    check_num_gpus(1 if num_gpus is None else num_gpus)
    path, where = _find(text)
    content = read_text(path, "cluster file", max_bytes=MAX_CLUSTER_BYTES)
    whole = _read(content, path, where, num_gpus)
    spec, assumptions = resize(whole, whole.num_devices if num_gpus is None else num_gpus, where)
    facts = [f"The figures of {spec.device.name} are published ones, not measured here."] if preset_path(text) else []
    facts += [f"Link {tier.name!r} is assumed: {tier.note}." for tier in spec.tiers if tier.source is Source.ASSUMED]
    sha256 = hashlib.sha256(content.encode()).hexdigest()
    return LoadedCluster(spec, sha256, where, (*facts, *assumptions))


def published_cluster(device_name: str) -> ClusterSpec | None:
    """The preset, two nodes of it, whose device the driver calls `device_name`; None where no figures are published."""
    for name in preset_names():
        path, where = _find(name)
        spec = _read(read_text(path, "cluster file"), path, where, None)
        if spec.device.name == device_name:
            return spec
    return None


def _find(text: str) -> tuple[Path, str]:
    preset = preset_path(text)
    if preset is not None:
        return preset, f"preset {text}"
    path = Path(text)
    if is_there(path, "cluster file") and not os.path.isdir(path):
        return path, f"cluster file {path}"
    if text in UNPUBLISHED:
        raise MissingError(f"--cluster {text}: {UNPUBLISHED[text]}")
    close = difflib.get_close_matches(text, preset_names(), n=3)
    hint = f"did you mean {', '.join(close)}" if close else f"presets: {', '.join(preset_names())}"
    raise BadInputError(f"--cluster {text}: neither a preset nor a YAML or JSON file; {hint}")


def _read(content: str, path: Path, where: str, num_gpus: int | None) -> ClusterSpec:
    data = parse_json(content, where) if path.suffix == ".json" else _parse_yaml(content, where)
    if not isinstance(data, dict):
        raise BadInputError(f"{where}: must hold keys and values, not a {type(data).__name__}")
    if data.get("schema") != ClusterSpec.SCHEMA:
        raise BadInputError(f"{where}: schema is {data.get('schema')!r}, but {ClusterSpec.SCHEMA!r} is needed here")
    data = {key: _with_units(key, value, where) for key, value in data.items()}
    if isinstance(data.get("device"), str):
        data["device"] = _device_of(data["device"], where)
    tiers = data.get("tiers")
    if not isinstance(tiers, list) or not tiers or not all(isinstance(tier, dict) for tier in tiers):
        raise BadInputError(f"{where}: tiers must be a list of links from the innermost to the outermost")
    if "num_devices" not in tiers[-1]:
        inner = [size for tier in tiers[:-1] if type(size := tier.get("num_devices")) is int]
        stated = [size for size in (num_gpus, data.get("num_devices")) if type(size) is int]
        tiers[-1]["num_devices"] = max([1, *stated, *(2 * size for size in inner)])
    data.setdefault("num_devices", tiers[-1]["num_devices"])
    return ClusterSpec.from_data(data, where)


def _device_of(name: str, where: str) -> Device:
    path = preset_path(name)
    if path is None:
        raise BadInputError(
            f"{where}: device is {name!r}, but must be a preset ({', '.join(preset_names())}) or its figures"
        )
    return _read(read_text(path, "cluster file"), path, f"preset {name}", None).device


class _StrictLoader(yaml.SafeLoader):
    """Plain values alone, and no key twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {key.value[:60]!r} stands twice", key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _parse_yaml(content: str, where: str) -> Any:
    try:
        _refuse_bombs(content, where)
        return yaml.load(content, Loader=_StrictLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise BadInputError(f"{where}: not valid YAML{place}: {error.problem}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise BadInputError(f"{where}: not valid YAML: {str(error).splitlines()[0]}") from None


def _refuse_bombs(content: str, where: str) -> None:
    """Aliases can stand for a text far larger than the file, and deep nesting takes quadratic time to parse."""
    if content.count("[") + content.count("{") > MAX_BRACKETS:
        raise BadInputError(f"{where}: has more than {MAX_BRACKETS} brackets, which no cluster needs")
    depth = 0
    for event in yaml.parse(content, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent):
            raise BadInputError(f"{where}: YAML aliases (*name) are not read here; write the value out")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise BadInputError(f"{where}: is nested more than {MAX_DEPTH} levels deep, but a cluster needs 4")


def _with_units(key: str, value: Any, where: str) -> Any:
    """`value` with every text of a known quantity turned into a number in its range; the rest is left to validation."""
    if isinstance(value, dict) and key in PARSERS:
        return {inner: _with_units(key, item, where) for inner, item in value.items()}
    if isinstance(value, dict):
        return {inner: _with_units(inner, item, where) for inner, item in value.items()}
    if isinstance(value, list):
        return [_with_units(key, item, where) for item in value]
    if isinstance(value, bool):
        # YAML takes yes, no, on and off for these, and a number field would take them for 1 and 0.
        raise BadInputError(f"{where}: {key} is {str(value).lower()}, but no key of a cluster is true or false")
    if isinstance(value, str) and key in PARSERS:
        try:
            value = float(value)  # YAML takes 1e12 for a text; the key says the unit
        except ValueError:
            value = PARSERS[key](value, f"{where}: {key}")
    low, high = RANGES.get(key, (-MAX_NUMBER, MAX_NUMBER))
    if isinstance(value, int | float) and not low <= value <= high:
        # A whole number can be too large for a float, and then for a format, too.
        shown = "far too large" if isinstance(value, int) and abs(value) > 10**300 else f"{value:g}"
        raise BadInputError(f"{where}: {key} is {shown}, but must be from {low:g} to {high:g}")
    return value
