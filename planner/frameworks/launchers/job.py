"""What a launcher has to start: a program, on how many nodes, with how many ranks on each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from costmodel.errors import BadInputError
from costmodel.spec import ClusterSpec, Plan


@dataclass(frozen=True)
class Launch:
    """One job: every rank runs `program`, and environment and arguments are the same on all."""

    title: tuple[str, ...]
    """Lines of comment for the top of the script; plain text of one line each."""
    num_nodes: int
    ranks_per_node: int
    program: tuple[str, ...]
    """Words of shell: each is one argument, and may hold expansions such as `"$here/plan.json"`."""
    is_python: bool = True
    """Whether the first word of `program` is a Python file or `-m module`, not a command."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables set unless the user has set them."""
    setup: tuple[str, ...] = ()
    """Lines of shell to run first, on every node; `$here` is the folder of the script."""


Launcher = Callable[[Launch], str]
"""Writes the text of a script that starts a job."""


def launch_size(plan: Plan, cluster: ClusterSpec) -> tuple[int, int]:
    """Nodes and ranks per node that `plan` takes on `cluster`; raises BadInputError where its last node is not full."""
    if plan.num_ranks > cluster.num_devices:
        raise BadInputError(
            f"the plan has {plan.num_ranks} ranks, but {cluster.name} has {cluster.num_devices} devices"
        )
    per_node = cluster.node_sizes[0]
    if plan.num_ranks <= per_node:
        return 1, plan.num_ranks
    num_nodes = plan.num_ranks // per_node
    if plan.num_ranks % per_node or set(cluster.node_sizes[:num_nodes]) != {per_node}:
        raise BadInputError(
            f"the plan has {plan.num_ranks} ranks, which do not fill nodes of {per_node} devices; "
            f"a launcher starts the same number on every node, so use a multiple of {per_node} on equal nodes"
        )
    return num_nodes, per_node
