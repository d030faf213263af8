"""`planner --help` imports click and next to nothing else."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("torch", "transformers", "ortools", "pandas", "matplotlib", "pydantic", "rich", "numpy", "networkx", "jinja2")


@pytest.mark.parametrize("arguments", [["--help"], ["solve", "--help"], ["run", "--help"], ["--version"]])
def test_help_loads_no_heavy_module(arguments: list[str]) -> None:
    code = (
        "import sys\n"
        "from planner.cli.main import run\n"
        f"assert run({arguments!r}) == 0\n"
        f"print('LOADED', [name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "LOADED []"


def test_python_m_planner_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "planner", "--help"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Usage: planner ")
