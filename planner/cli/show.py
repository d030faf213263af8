"""`planner show`: what was understood from a file, and what was assumed."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from planner.cli import options

if TYPE_CHECKING:
    from rich.console import Console

    from planner.clusters.rings import Axis

    Shown = tuple[dict[str, Any], Callable[[Console], None]]
    """The JSON object, and what prints it for a person."""

UNDERSTOOD = (
    "a model's config.json, preset name or module:factory, a cluster file or preset name, the output of `nvidia-smi "
    "topo -m`, `rocm-smi --showtopotype` or nccl-tests, a CSV of collectives, or a file of planner (profile, plan, "
    "measurement)"
)
CLUSTER_KEYS = {"device", "nodes", "tiers", "num_nodes", "devices_per_node", "topology", "collectives"}
"""Keys that a cluster file has, and a model's config has not."""


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--svg", type=options.PATH, metavar="OUT.SVG", help="Draw a cluster into this file as well.")
@click.option("--config", "as_config", is_flag=True, help="Print the config.json of a model, as a start for your own.")
@click.option(
    "--groups",
    metavar="AXES",
    help="Say what the rings of a layout meet in a cluster, e.g. tp=8,dp=4,pp=2; the first axis varies fastest.",
)
@options.json_flag
def show(file: str, svg: Path | None, as_config: bool, groups: str | None, as_json: bool) -> None:
    """Say what was understood from FILE, and what was assumed.

    FILE is a config.json or its folder, a cluster, profile, plan or measurement, the output of nvidia-smi topo -m,
    rocm-smi --showtopotype or nccl-tests, a CSV of collectives, the name of a preset, or module:factory, which is
    imported.
    """
    from costmodel.errors import BadInputError
    from planner.cli.console import out, print_json

    axes = () if groups is None else _axes(groups)
    kind, (data, print_for_person) = _understand(file, axes)
    if axes and kind not in ("cluster", "topology"):
        raise BadInputError(f"--groups speaks of clusters and topologies, but {file} {_is_a(kind)}; leave --groups out")
    if svg is not None:
        _draw(kind, file, axes, svg)
    if as_config:
        print_json(_config(kind, file))
    elif as_json:
        print_json({"kind": kind, **data})
    else:
        print_for_person(out())


def _num_devices(axes: tuple[Axis, ...]) -> int | None:
    """As many as a layout needs; None without one."""
    return math.prod(axis.degree for axis in axes) if axes else None


def _axes(groups: str) -> tuple[Axis, ...]:
    from planner.cli.groups import read_groups

    return read_groups(groups)


def _understand(file: str, axes: tuple[Axis, ...]) -> tuple[str, Shown]:
    """What kind of file it is, and what is shown of it; clusters and topologies with the rings of `axes`."""
    from costmodel.errors import BadInputError
    from planner.cli.loading import names_factory
    from planner.clusters import presets as clusters
    from planner.files import is_there, keys_of, read_text, schema_of
    from planner.models import presets as models

    path = Path(file)
    if models.preset_path(file) is not None or os.path.isdir(path):
        return "model", _model(file)
    if clusters.preset_path(file) is not None or path.suffix in {".yaml", ".yml"}:
        return "cluster", _cluster(file, axes)
    if not is_there(path, "file"):
        if names_factory(file):
            return "model", _model(file)
        close = clusters.similar(file, models.preset_names())
        hint = f"did you mean {', '.join(close)}" if close else f"show understands {UNDERSTOOD}"
        raise BadInputError(f"{file}: neither a file nor a preset; {hint}")
    text = read_text(path, "file")
    schema = (schema_of(text) or "").partition("/")[0]
    if schema == "cluster" or (not schema and CLUSTER_KEYS & keys_of(text)):
        return "cluster", _cluster(file, axes)
    if schema in _READERS:
        return _READERS[schema][0], _READERS[schema][1](file)
    if schema:
        raise BadInputError(
            f"{file}: schema is {schema_of(text)!r}, which show does not know; it understands {UNDERSTOOD}"
        )
    tool_output = _tool_output(text, file, axes) if path.suffix != ".json" else None
    if tool_output is not None:
        return tool_output
    if path.suffix != ".json" and not text.lstrip().startswith(("{", "[", '"')):
        state = "is not understood by this version" if text.strip() else "is empty"
        raise BadInputError(f"{file}: {state}; show understands {UNDERSTOOD}")
    return "model", _model(file)


def _is_a(kind: str) -> str:
    return "holds collectives" if kind == "collectives" else f"is a {kind}"


def _model(file: str) -> Shown:
    from planner.cli import loading
    from planner.cli.model_summary import model_object, print_model

    loaded = loading.load(file)
    data = {**model_object(loaded.spec), "sha256": loaded.sha256}
    return data, lambda console: print_model(console, loaded.spec)


def _config(kind: str, file: str) -> dict[str, Any]:
    """The raw config of a model; raises BadInputError for what has none."""
    from costmodel.errors import BadInputError
    from planner.cli.loading import names_factory
    from planner.models.read import load_config

    if kind != "model" or names_factory(file):
        has = "is built by code" if kind == "model" else _is_a(kind)
        raise BadInputError(f"--config prints the config.json of a model, but {file} {has}; leave --config out")
    return load_config(file).data


def _tool_output(text: str, file: str, axes: tuple[Axis, ...]) -> tuple[str, Shown] | None:
    """What a tool printed of a machine or of collectives; None where `text` is neither."""
    from costmodel.spec import Source
    from planner.cli import cluster_summary, joins_summary, topology_summary
    from planner.clusters import nccl_tests, topology
    from planner.clusters.table_file import is_table_file, read_table_file

    if topology.looks_like(text):
        machine = topology.parse_topology(text, file)
        joins = joins_summary.joins_of_topology(machine, axes, file)

        def print_for_person(console: Console) -> None:
            topology_summary.print_topology(console, machine, topology.tool_of(text))
            joins_summary.print_topology_joins(console, joins)

        data = {
            "tool": topology.tool_of(text),
            **topology_summary.topology_object(machine),
            **joins_summary.topology_joins_object(joins),
        }
        return "topology", (data, print_for_person)
    is_csv = Path(file).suffix == ".csv" or is_table_file(text)
    if is_csv or nccl_tests.looks_like(text):
        tables = read_table_file(text, file, Source.MEASURED) if is_csv else nccl_tests.read_runs(text, file, file)

        def print_runs(console: Console) -> None:
            for table in tables:
                cluster_summary.print_collectives(console, table)

        first, *others = (cluster_summary.collectives_object(table) for table in tables)
        return "collectives", ({**first, "runs": [first, *others]} if others else first, print_runs)
    return None


def _cluster(file: str, axes: tuple[Axis, ...]) -> Shown:
    """The cluster, with as many devices as `axes` need where there are some."""
    from planner.cli import joins_summary
    from planner.cli.cluster_summary import cluster_object, print_cluster
    from planner.cli.console import print_assumptions
    from planner.clusters.read import load_cluster

    loaded = load_cluster(file, _num_devices(axes))
    joins = joins_summary.joins_of_cluster(loaded.spec, axes)
    data = {
        **cluster_object(loaded.spec),
        **joins_summary.cluster_joins_object(joins),
        "assumptions": list(loaded.assumptions),
    }

    def print_for_person(console: Console) -> None:
        print_cluster(console, loaded.spec)
        joins_summary.print_cluster_joins(console, joins)
        print_assumptions(console, loaded.assumptions)

    return data, print_for_person


def _draw(kind: str, file: str, axes: tuple[Axis, ...], output: Path) -> None:
    """Draw the cluster of `file` as it is shown; raises BadInputError for another kind of file."""
    from costmodel.errors import BadInputError
    from planner.clusters.read import load_cluster
    from planner.files import check_writable, refuse_same_file, write_text

    if kind != "cluster":
        raise BadInputError(f"--svg draws clusters, but {file} {_is_a(kind)}; leave --svg out")
    remedy = "give another --svg"
    check_writable(output, lambda text: "<svg" in text[:512], force=None, remedy=remedy)
    refuse_same_file(output, file, remedy=remedy)

    from reports.cluster_drawing import draw_cluster
    from reports.svg import standalone

    write_text(output, standalone(draw_cluster(load_cluster(file, _num_devices(axes)).spec).wide))


def _profile(file: str) -> Shown:
    from planner.cli.summaries import print_profile, profile_object
    from planner.documents import read_profile

    profile = read_profile(Path(file))
    return profile_object(profile), lambda console: print_profile(console, profile)


def _plan(file: str) -> Shown:
    from planner.cli.answer_object import plan_file_object
    from planner.cli.answer_text import print_plan_file
    from planner.cli.console import print_assumptions
    from planner.documents import read_plan_file

    plan_file = read_plan_file(Path(file))

    def print_for_person(console: Console) -> None:
        print_assumptions(console, plan_file.assumptions)
        print_plan_file(console, plan_file)

    return plan_file_object(plan_file), print_for_person


def _measurement(file: str) -> Shown:
    from planner.cli.summaries import measurement_object, print_measurement
    from planner.documents import read_measurement

    measurement = read_measurement(Path(file))
    return measurement_object(measurement), lambda console: print_measurement(console, measurement)


_READERS: dict[str, tuple[str, Callable[[str], Shown]]] = {
    "profile": ("profile", _profile),
    "plan_file": ("plan", _plan),
    "measurement": ("measurement", _measurement),
}
"""By schema name: what the file is called, and who reads it."""
