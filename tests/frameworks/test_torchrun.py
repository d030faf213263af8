"""The launch script: what it gives to torchrun, and what it says where something is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from framework_samples import sample_cluster, sample_plan

from costmodel.errors import BadInputError
from planner.frameworks import launchers
from planner.frameworks.launchers.job import Launch
from planner.frameworks.launchers.torchrun import torchrun_script


def run_script(folder: Path, launch: Launch, *args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the script of `launch` with a torchrun that prints what it is given, one argument a line."""
    tools = folder / "tools"
    tools.mkdir()
    torchrun = tools / "torchrun"
    torchrun.write_text('#!/usr/bin/env bash\nprintf "%s\\n" "$@"\necho "LIMIT=${LIMIT:-}"\n')
    torchrun.chmod(0o755)
    script = folder / "train.sh"
    script.write_text(torchrun_script(launch))
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", str(script), *args], env={"PATH": path} | environment, capture_output=True, text=True, check=False
    )


def test_one_node_needs_no_rendezvous(tmp_path: Path) -> None:
    launch = Launch(title=("a job",), num_nodes=1, ranks_per_node=2, program=('"$here/it.py"',))
    done = run_script(tmp_path, launch, "--steps", "two words")
    assert done.stdout.splitlines()[:-1] == [
        "--standalone",
        "--nproc-per-node",
        "2",
        f"{tmp_path}/it.py",
        "--steps",
        "two words",
    ]


def test_several_nodes_take_rank_and_address_from_the_environment(tmp_path: Path) -> None:
    launch = Launch(title=(), num_nodes=4, ranks_per_node=8, program=("planner", "run"), is_python=False)
    done = run_script(tmp_path, launch, NODE_RANK="3", MASTER_ADDR="node0")
    assert done.stdout.splitlines()[:-1] == [
        *("--nnodes", "4", "--nproc-per-node", "8", "--node-rank", "3"),
        *("--master-addr", "node0", "--master-port", "29500", "--no-python", "planner", "run"),
    ]


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({}, "train.sh: set NODE_RANK to the number of this node, 0 to 3"),
        ({"NODE_RANK": "4", "MASTER_ADDR": "node0"}, "train.sh: set NODE_RANK to the number of this node, 0 to 3"),
        ({"NODE_RANK": "-1", "MASTER_ADDR": "node0"}, "train.sh: set NODE_RANK to the number of this node, 0 to 3"),
        ({"NODE_RANK": "0"}, "train.sh: set MASTER_ADDR to the address of node 0, which all nodes can reach"),
    ],
)
def test_missing_rank_or_address_is_said(tmp_path: Path, environment: dict[str, str], message: str) -> None:
    launch = Launch(title=(), num_nodes=4, ranks_per_node=8, program=("it.py",))
    done = run_script(tmp_path, launch, **environment)
    assert (done.returncode, done.stdout, done.stderr.strip()) == (2, "", message)


def test_a_missing_torchrun_is_said(tmp_path: Path) -> None:
    script = tmp_path / "train.sh"
    script.write_text(torchrun_script(Launch(title=(), num_nodes=1, ranks_per_node=2, program=("it.py",))))
    bash, dirname = shutil.which("bash"), shutil.which("dirname")
    assert bash is not None
    assert dirname is not None
    (tmp_path / "dirname").symlink_to(dirname)
    done = subprocess.run([bash, str(script)], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert "torchrun is not on PATH" in done.stderr


def test_variables_are_set_unless_the_user_has_set_them(tmp_path: Path) -> None:
    launch = Launch(title=(), num_nodes=1, ranks_per_node=1, program=("it.py",), environment={"LIMIT": 'a "$b" `c`'})
    assert run_script(tmp_path, launch).stdout.splitlines()[-1] == 'LIMIT=a "$b" `c`'
    (tmp_path / "own").mkdir()
    assert run_script(tmp_path / "own", launch, LIMIT="mine").stdout.splitlines()[-1] == "LIMIT=mine"


def test_a_title_cannot_leave_its_comment(tmp_path: Path) -> None:
    launch = Launch(title=("a\ntouch escaped",), num_nodes=1, ranks_per_node=1, program=("it.py",))
    assert "# a touch escaped\n" in torchrun_script(launch)


def test_ranks_fill_nodes() -> None:
    cluster = sample_cluster(16, per_node=8)
    assert launchers.launch_size(sample_plan("native", dp=4), cluster) == (1, 4)
    assert launchers.launch_size(sample_plan("native", dp=16), cluster) == (2, 8)
    with pytest.raises(BadInputError, match="12 ranks, which do not fill nodes of 8 devices"):
        launchers.launch_size(sample_plan("native", dp=12), cluster)
    with pytest.raises(BadInputError, match="the plan has 32 ranks, but sample has 16 devices"):
        launchers.launch_size(sample_plan("native", dp=32), cluster)


def test_an_unknown_launcher_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        BadInputError, match="--launcher 'slurm' is not supported by this version; valid values: torchrun"
    ):
        launchers.get("slurm")
