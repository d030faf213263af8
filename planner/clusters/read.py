"""Reads a cluster from a preset name or a YAML or JSON file, and fits it to the number of GPUs asked for.

A file says which machines there are and, where it must, what joins them: quantities may be written with units ("80
GiB", "400 Gbit/s"), `device` may name a preset, `topology` and `collectives` name outputs of `nvidia-smi topo -m` and
nccl-tests, and what is left out is derived or taken from --gpus. docs/clusters.md lists the keys.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from costmodel.errors import BadInputError, MissingError
from costmodel.spec import ClusterSpec, Source
from costmodel.spec.base import parse_json
from costmodel.spec.cluster import MAX_CLUSTER_DEVICES
from costmodel.spec.faults import offer
from costmodel.spec.shown import json_kind, shown
from costmodel.units import format_rate
from planner.clusters.collective_tables import own_tables, with_published
from planner.clusters.consistency import check_joins, left_out
from planner.clusters.fitting import fitted
from planner.clusters.links import Links, derived_tiers
from planner.clusters.mistaken import refuse_output
from planner.clusters.nodes import SHORT_KEYS, Machines, read_machines
from planner.clusters.presets import FOLDER, UNPUBLISHED, hint, preset_data, preset_of_device, preset_path
from planner.clusters.quantities import with_units
from planner.clusters.resize import check_num_gpus, unequal_nodes
from planner.clusters.stated_tiers import StatedTiers, read_stated_tiers
from planner.clusters.strict_yaml import parse_yaml
from planner.clusters.table_fit import Room
from planner.clusters.text_output import MAX_OUTPUT_BYTES
from planner.files import is_there, read_text, sha256_of_text

MAX_YAML_BYTES = 2**15
"""A cluster takes about 2 KiB, and YAML is read slowly."""
MAX_JSON_BYTES = 2**22

KEYS = {
    "schema", "name", "nodes", "num_devices", "devices_per_node", "tiers", "network", "wan", "tables", "collectives",
    *SHORT_KEYS,
}  # fmt: skip
"""What may stand at the top of a file."""


@dataclass(frozen=True)
class LoadedCluster:
    """A cluster as it was read, fitted to the number of GPUs."""

    spec: ClusterSpec
    sha256: str
    where: str
    assumptions: tuple[str, ...]
    """Sentences on what nobody measured."""


@dataclass(frozen=True)
class _Written:
    """A file as it stands, quantities as numbers."""

    data: dict[str, Any]
    where: str
    name: str
    folder: Path
    sha256: str
    source: Source
    """What its collectives are worth: published ones of a preset are analytic."""


def load_cluster(text: str, num_gpus: int | None) -> LoadedCluster:
    """`num_gpus` devices of the cluster that `text` names: a preset, or a YAML or JSON file.

    None means all the devices that a file states, or two machines, or racks of one NVLink domain, where it states no
    number.
    Raises BadInputError for an unknown name (with close matches), a faulty file, a number of GPUs below 1 or above
    what the file holds; MissingError for `cpu`, which has to be measured.
    """
    check_num_gpus(1 if num_gpus is None else num_gpus)
    written = _written(text)
    spec, derived, without_source = _build(written, num_gpus)
    facts = [f"The figures of {spec.device.name} are published ones, not measured here."] if preset_path(text) else []
    if len(spec.devices) > 1:
        facts.append(
            f"Devices differ ({', '.join(device.name for device in spec.devices)}); every rank is priced at the "
            "slowest figures, since all wait for one another."
        )
    facts += (*derived, *_assumed_links(spec, without_source))
    return LoadedCluster(spec, written.sha256, written.where, (*facts, *unequal_nodes(spec)))


def _assumed_links(spec: ClusterSpec, without_source: Collection[str]) -> Iterator[str]:
    """A sentence on the links that a file states without a source, and one on others that are assumed."""
    assumed = [tier for tier in spec.tiers if tier.source is Source.ASSUMED]
    stated = [f"link {tier.name!r}" for tier in assumed if tier.name in without_source]
    others = [
        f"link {tier.name!r} ({format_rate(tier.bandwidth_bytes_per_s)} per {spec.device_noun})"
        for tier in assumed
        if tier.name not in without_source
    ]
    if stated:
        yield (
            f"Stated in the file without a source, so priced as assumed: {', '.join(stated)}; write `source: measured` "
            "or `source: analytic` there if it is."
        )
    if others:
        yield f"Assumed: {', '.join(others)}; `planner show` of the cluster says from what."


def published_cluster(device_name: str) -> ClusterSpec | None:
    """The preset, two nodes of it, whose device the driver calls `device_name`; None where no figures are published."""
    name = preset_of_device(device_name)
    return None if name is None else _build(_written(name), None)[0]


def _written(text: str) -> _Written:
    preset = preset_path(text)
    if preset is not None:
        name, digest = preset.stem, sha256_of_text(read_text(preset, "cluster file"))
        return _Written(preset_data(name), f"preset {name}", name, FOLDER, digest, Source.ANALYTIC)
    path = Path(text)
    if not is_there(path, "cluster file") or os.path.isdir(path):
        if text in UNPUBLISHED:
            raise MissingError(f"--cluster {text}: {UNPUBLISHED[text]}")
        raise BadInputError(f"cluster {text}: neither a preset nor a YAML or JSON file; {hint(text)}")
    where = f"cluster file {path}"
    is_json = path.suffix == ".json"
    content = read_text(path, "cluster file", max_bytes=MAX_JSON_BYTES if is_json else MAX_OUTPUT_BYTES)
    if not is_json:
        refuse_output(content, path, where)
    if not is_json and len(content.encode()) > MAX_YAML_BYTES:
        raise BadInputError(
            f"{where}: is larger than {MAX_YAML_BYTES // 2**10} KiB, and YAML is read slowly; write equal machines as "
            "one entry of nodes with num_nodes, or the file as JSON"
        )
    data = parse_json(content, where) if is_json else parse_yaml(content, where)
    if not isinstance(data, dict):
        raise BadInputError(f"{where}: holds {json_kind(data)}, but must hold keys and values")
    if data.get("schema", ClusterSpec.SCHEMA) != ClusterSpec.SCHEMA:
        raise BadInputError(f"{where}: schema is {shown(data['schema'])}, but {ClusterSpec.SCHEMA!r} is needed here")
    data = {key: with_units(key, value, where) for key, value in data.items()}
    unknown = next((key for key in data if key not in KEYS), None)
    if unknown is not None:
        raise BadInputError(f"{where}: unknown key {shown(unknown)}; {offer(str(unknown), KEYS)}")
    return _Written(data, where, path.stem or "cluster", path.parent, sha256_of_text(content), Source.MEASURED)


def _build(written: _Written, num_gpus: int | None) -> tuple[ClusterSpec, tuple[str, ...], frozenset[str]]:
    """The cluster, sentences on it, and the names of links that the file states without a source."""
    data, where = written.data, written.where
    stated = read_stated_tiers(data.get("tiers"), where)
    machines = read_machines(data, stated, where, written.folder)
    unused = check_joins(data, machines, where)
    room = Room.of(machines, stated)
    num_devices = _num_devices(machines, room, stated) if num_gpus is None else num_gpus
    try:
        filled = machines.filled(num_devices)
    except ValueError:
        key = "num_devices" if data.get("num_devices") is not None else "num_nodes"
        raise BadInputError(
            f"{where}: has {machines.num_devices} devices, but {num_devices} are asked for; raise its {key} or ask for "
            "fewer"
        ) from None
    if stated is None:
        links = derived_tiers(data, filled, num_devices, where)
    else:
        links = Links(fitted(stated.tiers, filled.groups, num_devices), (), stated.without_source)
    tables = own_tables(data, where, written.folder, written.source, room)
    if stated is None:
        tables = with_published(tables, filled, own_network=data.get("network") is not None)
    parts = {
        "name": data.get("name", written.name),
        "nodes": filled.groups,
        "tiers": links.tiers,
        "tables": tables.tables,
    }
    spec = ClusterSpec.from_data(parts, where)
    said = (*machines.assumptions, *unused, *left_out(machines, num_devices), *links.assumptions, *tables.assumptions)
    return spec, said, links.without_source


def _num_devices(machines: Machines, room: Room, stated: StatedTiers | None) -> int:
    """All that a file states; where the last group is open, two machines or racks, or what its tiers join."""
    if not machines.is_open:
        return machines.num_devices
    size = machines.groups[-1].node.num_devices
    per_unit = room.per_unit // size * size
    is_rack = len(machines.groups) == 1 and per_unit > size
    total = min(2 * per_unit if is_rack else machines.num_devices + size, MAX_CLUSTER_DEVICES)
    return max([total, *(tier.num_devices for tier in (stated.closed if stated is not None else ()))])
