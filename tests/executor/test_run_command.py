"""`planner run` among ranks that a launcher started: who speaks, and what becomes of a defect on one of them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch.distributed as dist
from plan_files import plan_file, tiny_plan

from costmodel.errors import BadInputError
from executor.failures import LostPeerError
from executor.process_group import refusal_of_rank_0
from executor.ranks import RankGroup
from planner.cli.main import run


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A plan for two ranks in an empty current folder."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "plan.json"
    path.write_text(plan_file(tiny_plan(dp=2, micro_batch=2)).to_json())
    return path


def be_rank(monkeypatch: pytest.MonkeyPatch, rank: int, local_rank: int, world_size: int) -> None:
    environment = {"RANK": rank, "LOCAL_RANK": local_rank, "WORLD_SIZE": world_size, "LOCAL_WORLD_SIZE": 2}
    for name, value in environment.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")


@pytest.mark.parametrize(("rank", "local_rank", "speaks"), [(0, 0, True), (1, 1, False), (2, 0, True), (3, 1, False)])
@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ((), "torchrun started 4 ranks, but the plan is for 2"),
        (("--steps", "0"), "--steps is 0"),
        (("--device", "tpu"), "--device is 'tpu'"),
    ],
)
def test_what_every_rank_meets_is_said_by_the_first_of_each_computer(
    plan: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    rank: int,
    local_rank: int,
    speaks: bool,
    flags: tuple[str, ...],
    sentence: str,
) -> None:
    be_rank(monkeypatch, rank, local_rank, world_size=4)
    assert run(["run", str(plan), *flags]) == 2
    error = capfd.readouterr().err
    assert error.count("\n") == speaks
    assert (sentence in error) == speaks


@pytest.mark.parametrize(("rank", "speaks"), [(0, True), (1, False)])
def test_a_broken_variable_of_the_launcher_is_said_once(
    plan: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], rank: int, speaks: bool
) -> None:
    be_rank(monkeypatch, rank, local_rank=rank, world_size=2)
    monkeypatch.setenv("WORLD_SIZE", "two")
    assert run(["run", str(plan)]) == 2
    sentence = "planner: the launcher's WORLD_SIZE is 'two'; it must be a whole number\n"
    assert capfd.readouterr().err == (sentence if speaks else "")


def refuse() -> None:
    raise BadInputError(f"rank {dist.get_rank()} cannot write")


def outcome_of(check: Callable[[], None] | None) -> tuple[type[Exception], str] | None:
    refusal = refusal_of_rank_0(check)
    return None if refusal is None else (type(refusal), str(refusal))


@pytest.mark.parametrize(
    ("check", "outcome"), [(refuse, (BadInputError, "rank 0 cannot write")), (dist.get_rank, None), (None, None)]
)
def test_every_rank_hears_what_rank_0_refuses(
    ranks: Callable[[int], RankGroup], check: Callable[[], None] | None, outcome: tuple[type[Exception], str] | None
) -> None:
    assert ranks(2).call(outcome_of, check) == [outcome, outcome]


def test_a_failure_of_one_rank_is_said_by_that_rank(
    plan: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def lose_peer(*_: object, **__: object) -> None:
        raise LostPeerError("rank 1 of 2 failed")

    be_rank(monkeypatch, rank=1, local_rank=1, world_size=2)
    monkeypatch.setattr("executor.run.run", lose_peer)
    assert run(["run", str(plan), "--device", "cpu"]) == 5
    assert capfd.readouterr().err == "planner: rank 1 of 2 failed\n"


SCRIPT = """
import os, sys
from executor.trainer import Trainer
from planner.cli.main import run

def broken(self, tokens):
    raise TypeError("the tensor is too green")

if os.environ["RANK"] == "1":
    Trainer.step = broken
code = run(["run", sys.argv[1], "--steps", "2", "--device", "cpu"])
print(f"rank {os.environ['RANK']} left with {code}", file=sys.stderr, flush=True)
os._exit(code)
"""


@pytest.mark.slow
def test_a_defect_on_a_launched_rank_exits_1_with_its_traceback_and_its_peer_5(plan: Path) -> None:
    peer, broken = errors_of_two_ranks(plan, SCRIPT)
    assert "TypeError: the tensor is too green" in broken
    assert "rank 1 left with 1" in broken
    assert "Traceback" not in peer
    assert "planner: rank 0 of 2 failed: " in peer
    assert "rank 0 left with 5" in peer
    assert not plan.with_name("measurement.json").exists()


REFUSED_SCRIPT = """
import os, sys
from planner.cli.main import run

code = run(["run", sys.argv[1], "--steps", "2", "--device", "cpu", "-o", "no/such.json"])
print(f"rank {os.environ['RANK']} left with {code}", file=sys.stderr, flush=True)
os._exit(code)
"""


@pytest.mark.slow
def test_an_output_that_rank_0_cannot_write_ends_all_ranks_before_they_train(plan: Path) -> None:
    first, second = errors_of_two_ranks(plan, REFUSED_SCRIPT)
    assert "planner: output no/such.json: the folder " in first
    assert "step 1 of 2" not in first
    assert "rank 0 left with 2" in first
    assert second == "rank 1 left with 2\n"


def errors_of_two_ranks(plan: Path, script_text: str) -> list[str]:
    """What two ranks of a launcher write to stderr, each running `script_text` with the plan as its argument."""
    script = plan.with_name("train.py")
    script.write_text(script_text)
    environment = os.environ | {
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "lo",
        "WORLD_SIZE": "2",
        "LOCAL_WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
    }
    ranks = [
        subprocess.Popen(
            [sys.executable, str(script), str(plan)],
            env=environment | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    return [rank.communicate(timeout=300)[1] for rank in ranks]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port
