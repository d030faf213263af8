"""Reads what the drivers' tools say of a machine: `nvidia-smi topo -m` and `rocm-smi --showtopotype`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from costmodel.errors import BadInputError
from costmodel.spec.shown import shown
from costmodel.spec.topology import NodeTopology
from planner.clusters.text_output import MAX_OUTPUT_BYTES
from planner.clusters.topology import nvidia_smi, rocm_smi
from planner.files import read_text


def looks_like(text: str) -> bool:
    """Whether `text` holds a table of one of the tools."""
    return rocm_smi.looks_like(text) or nvidia_smi.looks_like(text)


def tool_of(text: str) -> str:
    """The command that printed `text`, which looks like a table of one of the tools."""
    return rocm_smi.TOOL if rocm_smi.looks_like(text) else nvidia_smi.TOOL


def parse_topology(text: str, where: str) -> NodeTopology:
    """The machine that the output `text` describes; raises BadInputError where it is none of these tools'."""
    if rocm_smi.looks_like(text):
        return rocm_smi.read(text, where)
    return nvidia_smi.read(text, where)


def read_topology(given: Any, where: str, folder: Path) -> NodeTopology:
    """The topology that a key of a cluster file stands for: a file in `folder`, or the topology itself."""
    if isinstance(given, dict):
        return NodeTopology.from_data(given, f"{where}: topology")
    if not isinstance(given, str) or not given:
        raise BadInputError(f"{where}: topology is {shown(given)}, but must be the name of a file with such an output")
    path = folder / given
    return parse_topology(read_text(path, "topology", max_bytes=MAX_OUTPUT_BYTES), f"topology {path}")
