"""Writes a shell script that starts a job with torchrun, once on every node."""

from __future__ import annotations

import shlex

from planner.frameworks.launchers.job import Launch

EXIT_BAD_INPUT = 2
EXIT_MISSING = 4


def torchrun_script(launch: Launch) -> str:
    """Text of `train.sh`. On several nodes it reads NODE_RANK and MASTER_ADDR, and says so where they are missing.

    Arguments of the script go to the program after its own, so that they override them.
    """
    words = _rendezvous(launch)
    if not launch.is_python:
        words.append("--no-python")
    command = " \\\n    ".join(["exec torchrun", *words, *launch.program, '"$@"'])
    lines = [
        "#!/usr/bin/env bash",
        *(f"# {' '.join(line.split())}" for line in launch.title),
        "set -euo pipefail",
        'here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"',
        "",
        "fail() {",
        '    echo "train.sh: $2" >&2',
        '    exit "$1"',
        "}",
        "",
        f"command -v torchrun >/dev/null || fail {EXIT_MISSING} 'torchrun is not on PATH; "
        "activate the environment that has torch'",
        *(_node_checks(launch.num_nodes) if launch.num_nodes > 1 else ()),
        *launch.setup,
        *(f'export {name}="${{{name}:-{_in_double_quotes(value)}}}"' for name, value in launch.environment.items()),
        "",
        command,
    ]
    return "\n".join(lines) + "\n"


def _rendezvous(launch: Launch) -> list[str]:
    ranks = f"--nproc-per-node {launch.ranks_per_node}"
    if launch.num_nodes == 1:
        return ["--standalone", ranks]
    return [
        f"--nnodes {launch.num_nodes}",
        ranks,
        '--node-rank "$NODE_RANK"',
        '--master-addr "$MASTER_ADDR"',
        '--master-port "${MASTER_PORT:-29500}"',
    ]


def _node_checks(num_nodes: int) -> list[str]:
    last = num_nodes - 1
    rank_range = shlex.quote(f"set NODE_RANK to the number of this node, 0 to {last}")
    address = shlex.quote("set MASTER_ADDR to the address of node 0, which all nodes can reach")
    return [
        f'[[ "${{NODE_RANK:-}}" =~ ^[0-9]+$ && "$NODE_RANK" -le {last} ]] || fail {EXIT_BAD_INPUT} {rank_range}',
        f'[[ -n "${{MASTER_ADDR:-}}" ]] || fail {EXIT_BAD_INPUT} {address}',
    ]


def _in_double_quotes(text: str) -> str:
    for special in ("\\", '"', "$", "`"):
        text = text.replace(special, "\\" + special)
    return text
