"""Standard streams that are closed, full or abandoned: the work is done, the exit code is told, nothing is a defect."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from planner.cli import main

SOLVE = "solve --gpus 1 --model llama-demo-6m --cluster h100-sxm"


def shell(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    """`line` in bash; `planner` in it is this interpreter's."""
    script = f'planner() {{ "{sys.executable}" -m planner "$@"; }}; {line}'
    return subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("arguments", [["--help"], ["show", "llama-3-8b"], ["show", "llama-3-8b", "--json"]])
def test_a_reader_that_left_is_told_by_the_exit_code_alone(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "planner", *arguments]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert done.returncode == main.EXIT_BROKEN_PIPE == 141
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "unbuffered"),
    [("--help", ""), ("--help", "1"), ("show llama-3-8b", ""), ("show h100-sxm --json", "1")],
)
def test_an_answer_that_gets_lost_is_said(tmp_path: Path, arguments: str, unbuffered: str) -> None:
    done = shell(tmp_path, f"PYTHONUNBUFFERED={unbuffered} planner {arguments} > /dev/full")
    assert done.returncode == 2
    assert done.stderr == "planner: stdout: the answer cannot be written: no space left on device; send it elsewhere\n"


def test_a_closed_stdout_is_not_mixed_up_with_the_plan_file(tmp_path: Path) -> None:
    done = shell(tmp_path, f"planner {SOLVE} >&-")
    assert done.returncode == 2
    assert done.stderr == "planner: stdout: the answer cannot be written: it is closed; send it elsewhere\n"
    assert json.loads((tmp_path / "plan.json").read_text())["schema"] == "plan_file/1"


@pytest.mark.parametrize("away", ["2>&-", "2> /dev/full"])
@pytest.mark.parametrize(("arguments", "code", "answer"), [("--version", 0, "planner 0.1.0\n"), ("nonsense", 2, "")])
def test_messages_may_get_lost(tmp_path: Path, arguments: str, code: int, answer: str, away: str) -> None:
    done = shell(tmp_path, f"planner {arguments} {away}")
    assert (done.returncode, done.stdout) == (code, answer)


def test_names_that_the_terminal_cannot_show(tmp_path: Path) -> None:
    folder = tmp_path / "mod\u00e8le"
    folder.mkdir()
    (folder / "config.json").write_text((Path(main.__file__).parents[1] / "models/presets/llama-3-8b.json").read_text())
    done = shell(tmp_path, "PYTHONIOENCODING=ascii planner show mod*; PYTHONIOENCODING=ascii planner show mod* --json")
    assert done.returncode == 0
    assert "mod\\xe8le" in done.stdout
    assert json.loads(done.stdout[done.stdout.index("{") :])["name"] == "mod\u00e8le"


LOUD_FACTORY = """
import atexit, os, sys, threading
from torch import nn

atexit.register(print, "exit handler")
started, answered = threading.Event(), threading.Event()


def chatter():
    started.set()
    while not answered.wait(0.001):
        print("thread")


atexit.register(answered.set)
threading.Thread(target=chatter, daemon=True).start()
started.wait()


class Loud(nn.Module):
    def forward(self, x):
        print("forward pass")
        os.write(1, b"descriptor 1\\n")
        sys.__stdout__.write("old stdout\\n")
        return x


def build():
    os.system("echo child process")
    return [nn.Embedding(10, 8), nn.Sequential(Loud(), nn.Linear(8, 8)), nn.Linear(8, 10)]
"""


def test_a_factory_may_print_but_the_answer_stays_alone(tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text(LOUD_FACTORY)
    done = shell(tmp_path, "planner show loud:build --json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["params_by_part"] == {"embedding": 80, "blocks": 72, "head": 90}
    for printed in ("thread", "forward pass", "descriptor 1", "old stdout", "child process", "exit handler"):
        assert printed in done.stderr


def test_a_factory_that_leaves_python_is_an_error_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "leaves.py").write_text("import sys\ndef build():\n    sys.exit(0)\n")
    done = shell(tmp_path, "planner show leaves:build --json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "building it failed at" in done.stderr
