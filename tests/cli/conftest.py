"""Runs the command line in this process, in an empty folder, as a shell would see it."""

from __future__ import annotations

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
