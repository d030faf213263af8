"""Ranks that torchrun or Slurm has started are recognised, and must be as many as the plan needs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from plan_files import plan_file, tiny_plan

from costmodel.errors import BadInputError
from executor.launcher import Launcher, check_world_size, current_launcher, is_first_of_its_computer

TORCHRUN = {
    "RANK": "3",
    "WORLD_SIZE": "8",
    "LOCAL_RANK": "1",
    "LOCAL_WORLD_SIZE": "2",
    "MASTER_ADDR": "node-0",
    "MASTER_PORT": "1234",
}
SLURM = {"SLURM_PROCID": "3", "SLURM_NTASKS": "8", "SLURM_LOCALID": "1", "SLURM_NTASKS_PER_NODE": "2"}


def test_torchrun_is_recognised_and_its_environment_kept() -> None:
    launcher = current_launcher(TORCHRUN)
    assert launcher == Launcher("torchrun", 3, 8, 1, 2, "node-0", 1234)
    assert launcher.environment() == TORCHRUN


def test_slurm_is_recognised_where_the_ranks_have_a_place_to_meet() -> None:
    assert current_launcher(SLURM | {"MASTER_ADDR": "node-0"}) == Launcher("slurm", 3, 8, 1, 2, "node-0", 29500)


@pytest.mark.parametrize("environment", [{}, SLURM, {"MASTER_ADDR": "node-0"}])
def test_a_shell_without_launched_ranks_starts_its_own(environment: dict[str, str]) -> None:
    assert current_launcher(environment) is None


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"RANK": "three"}, "RANK is 'three'"),
        ({"RANK": "8"}, "RANK is 8, but it must be below WORLD_SIZE, which is 8"),
        ({"WORLD_SIZE": None}, "no WORLD_SIZE"),
    ],
)
def test_a_broken_environment_is_named(change: dict[str, str | None], sentence: str) -> None:
    merged: dict[str, Any] = TORCHRUN | change
    with pytest.raises(BadInputError, match=sentence):
        current_launcher({name: value for name, value in merged.items() if value is not None})


@pytest.mark.parametrize(
    ("environment", "first"),
    [
        ({}, True),
        (SLURM, True),
        (TORCHRUN, False),
        (TORCHRUN | {"LOCAL_RANK": "0"}, True),
        (TORCHRUN | {"LOCAL_RANK": "0", "WORLD_SIZE": "many"}, True),
        (TORCHRUN | {"WORLD_SIZE": "many"}, False),
        (TORCHRUN | {"LOCAL_RANK": "one"}, False),
        (TORCHRUN | {"LOCAL_RANK": "one", "RANK": "0"}, True),
        (TORCHRUN | {"LOCAL_RANK": "one", "RANK": "two"}, True),
        (SLURM | {"MASTER_ADDR": "node-0"}, False),
        (SLURM | {"MASTER_ADDR": "node-0", "SLURM_LOCALID": "0", "SLURM_NTASKS": ""}, True),
    ],
)
def test_one_rank_speaks_for_its_computer_whatever_else_is_broken(environment: dict[str, str], first: bool) -> None:
    assert is_first_of_its_computer(environment) is first


def test_another_world_size_than_the_plans_is_refused_with_both_numbers() -> None:
    launcher = current_launcher(TORCHRUN)
    assert launcher is not None
    check_world_size(launcher, 8)
    with pytest.raises(BadInputError, match=r"torchrun started 8 ranks, but the plan is for 4.*--gpus 8"):
        check_world_size(launcher, 4)


SCRIPT = """
import sys
from pathlib import Path
from costmodel.errors import PlannerError
from costmodel.spec import PlanFile
from executor.run import run

plan, text, out = map(Path, sys.argv[1:])
try:
    measurement = run(PlanFile.from_json(plan.read_text(), "plan"), data=text, steps=3, device="cpu")
except PlannerError as error:
    sys.exit(f"{error.exit_code}: {error}")
if measurement is not None:
    out.write_text(measurement.to_json())
"""


def torchrun(tmp_path: Path, num_ranks: int, num_planned: int) -> subprocess.CompletedProcess[str]:
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "text.txt").write_text("All the world is a stage. " * 40)
    (tmp_path / "plan.json").write_text(plan_file(tiny_plan(dp=num_planned, micro_batch=2)).to_json())
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--local-addr", "127.0.0.1"]
    command += ["--nproc-per-node", str(num_ranks), str(tmp_path / "train.py")]
    command += [str(tmp_path / name) for name in ("plan.json", "text.txt", "measurement.json")]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.slow
def test_a_run_joins_the_ranks_of_torchrun(tmp_path: Path) -> None:
    finished = torchrun(tmp_path, num_ranks=2, num_planned=2)
    assert finished.returncode == 0, finished.stderr
    measurement = json.loads((tmp_path / "measurement.json").read_text())
    assert len(measurement["losses"]) == 3
    assert len(measurement["peak_memory_bytes"]) == 2


@pytest.mark.slow
def test_a_run_refuses_the_wrong_number_of_ranks_under_torchrun(tmp_path: Path) -> None:
    finished = torchrun(tmp_path, num_ranks=2, num_planned=1)
    assert finished.returncode != 0
    assert "2: torchrun started 2 ranks, but the plan is for 1" in finished.stderr
    assert not (tmp_path / "measurement.json").exists()
