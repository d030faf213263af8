"""Runs the command line in this process, in an empty folder, as a shell would see it."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from planner.cli.main import run


@dataclass(frozen=True)
class Outcome:
    """Exit code and both streams of one command."""

    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> dict[str, Any]:
        """The one object on stdout."""
        data = json.loads(self.stdout)
        assert isinstance(data, dict)
        return data


Planner = Callable[..., Outcome]


@pytest.fixture
def planner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Planner:
    """`planner("solve", "--gpus", 2)`; the current folder is `tmp_path`, empty at first."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def call(*arguments: object) -> Outcome:
        code = run([str(argument) for argument in arguments])
        streams = capfd.readouterr()
        return Outcome(code, streams.out, streams.err)

    return call


@pytest.fixture(scope="session")
def plan_text(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A plan file for two ranks of the demo's model, as `solve` writes it."""
    path = tmp_path_factory.mktemp("solved") / "plan.json"
    flags = "--gpus 2 --model llama-demo-6m --cluster h100-sxm --precision fp32 --tp 1 --pp 1"
    with contextlib.redirect_stdout(io.StringIO()):
        assert run(["solve", *flags.split(), "-o", str(path), "--json"]) == 0
    return path.read_text()
