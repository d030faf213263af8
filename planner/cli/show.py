"""`planner show`: what was understood from a file, and what was assumed."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from planner.cli import options

if TYPE_CHECKING:
    from rich.console import Console

    Shown = tuple[dict[str, Any], Callable[[Console], None]]
    """The JSON object, and what prints it for a person."""

UNDERSTOOD = (
    "a model's config.json, preset name or module:factory, a cluster file or preset name, the output of `nvidia-smi "
    "topo -m`, `rocm-smi --showtopotype` or nccl-tests, or a file of planner (profile, plan, measurement)"
)


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--svg", type=options.PATH, metavar="OUT.SVG", help="Draw a cluster into this file as well.")
@click.option("--config", "as_config", is_flag=True, help="Print the config.json of a model, as a start for your own.")
@options.json_flag
def show(file: str, svg: Path | None, as_config: bool, as_json: bool) -> None:
    """Say what was understood from FILE, and what was assumed.

    FILE is a config.json or its folder, a cluster, profile, plan or measurement, the output of nvidia-smi topo -m,
    rocm-smi --showtopotype or nccl-tests, the name of a preset, or module:factory, which is imported.
    """
    from planner.cli.console import out, print_json

    kind, (data, print_for_person) = _understand(file)
    if svg is not None:
        _draw(kind, file, svg)
    if as_config:
        print_json(_config(kind, file))
    elif as_json:
        print_json({"kind": kind, **data})
    else:
        print_for_person(out())


def _understand(file: str) -> tuple[str, Shown]:
    from costmodel.errors import BadInputError
    from planner.cli.loading import names_factory
    from planner.clusters import presets as clusters
    from planner.files import is_there, read_text, schema_of
    from planner.models import presets as models

    path = Path(file)
    if models.preset_path(file) is not None or os.path.isdir(path):
        return "model", _model(file)
    if clusters.preset_path(file) is not None or path.suffix in {".yaml", ".yml"}:
        return "cluster", _cluster(file)
    if not is_there(path, "file"):
        if names_factory(file):
            return "model", _model(file)
        close = difflib.get_close_matches(file, [*models.preset_names(), *clusters.preset_names()], n=3)
        hint = f"did you mean {', '.join(close)}" if close else f"show understands {UNDERSTOOD}"
        raise BadInputError(f"{file}: neither a file nor a preset; {hint}")
    text = read_text(path, "file")
    schema = (schema_of(text) or "").partition("/")[0]
    if schema in _READERS:
        return _READERS[schema][0], _READERS[schema][1](file)
    if schema:
        raise BadInputError(
            f"{file}: schema is {schema_of(text)!r}, which show does not know; it understands {UNDERSTOOD}"
        )
    tool_output = _tool_output(text, file) if path.suffix != ".json" else None
    if tool_output is not None:
        return tool_output
    if path.suffix != ".json" and not text.lstrip().startswith(("{", "[", '"')):
        state = "is not understood by this version" if text.strip() else "is empty"
        raise BadInputError(f"{file}: {state}; show understands {UNDERSTOOD}")
    return "model", _model(file)


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
        has = "is built by code" if kind == "model" else f"is a {kind}"
        raise BadInputError(f"--config prints the config.json of a model, but {file} {has}; leave --config out")
    return load_config(file).data


def _tool_output(text: str, file: str) -> tuple[str, Shown] | None:
    """What a tool printed of a machine or of collectives; None where `text` is neither."""
    from planner.cli import cluster_summary
    from planner.clusters import nccl_tests, topology

    if topology.looks_like(text):
        machine = topology.parse_topology(text, file)
        return "topology", (
            cluster_summary.topology_object(machine),
            lambda console: cluster_summary.print_topology(console, machine),
        )
    if nccl_tests.looks_like(text):
        table = nccl_tests.read(text, file, file)
        return "collectives", (
            cluster_summary.collectives_object(table),
            lambda console: cluster_summary.print_collectives(console, table),
        )
    return None


def _cluster(file: str) -> Shown:
    from planner.cli.cluster_summary import cluster_object, print_cluster
    from planner.cli.console import print_assumptions
    from planner.clusters.read import load_cluster

    loaded = load_cluster(file, None)
    data = {**cluster_object(loaded.spec), "assumptions": list(loaded.assumptions)}

    def print_for_person(console: Console) -> None:
        print_cluster(console, loaded.spec)
        print_assumptions(console, loaded.assumptions)

    return data, print_for_person


def _draw(kind: str, file: str, output: Path) -> None:
    """Draw the cluster of `file`; raises BadInputError for another kind of file."""
    from costmodel.errors import BadInputError
    from planner.clusters.read import load_cluster
    from planner.files import check_writable, refuse_same_file, write_text

    if kind != "cluster":
        raise BadInputError(f"--svg draws clusters, but {file} is a {kind}; leave --svg out")
    check_writable(output, lambda text: "<svg" in text[:512], force=False)
    refuse_same_file(output, file)

    from reports.cluster_drawing import draw_cluster
    from reports.svg import standalone

    write_text(output, standalone(draw_cluster(load_cluster(file, None).spec).wide))


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
    "cluster": ("cluster", _cluster),
    "profile": ("profile", _profile),
    "plan_file": ("plan", _plan),
    "measurement": ("measurement", _measurement),
}
"""By schema name: what the file is called, and who reads it."""
