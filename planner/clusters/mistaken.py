"""Tells a cluster file from the outputs that one may name, which are easily given in its stead."""

from __future__ import annotations

from pathlib import Path

from costmodel.errors import BadInputError
from planner.clusters import nccl_tests, topology
from planner.clusters.table_file import is_table_file


def refuse_output(text: str, path: Path, where: str) -> None:
    """Raise BadInputError, with the lines to write, where `text` is no cluster but what a tool printed of one."""
    if topology.looks_like(text):
        what = f"the output of {topology.tool_of(text)}"
        key = f"topology: {path.name}"
    elif is_table_file(text):
        what, key = "a CSV of measured collectives", f"collectives: [{path.name}]"
    elif nccl_tests.looks_like(text):
        what, key = "an output of nccl-tests", f"collectives: [{path.name}]"
    else:
        return
    raise BadInputError(
        f"{where}: is {what}, which a cluster file names; write one beside it with the lines `device: NAME` (a GPU of "
        f"`planner clusters`) and `{key}`, and give that"
    )
