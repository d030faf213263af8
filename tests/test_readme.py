"""The commands of the README run as printed, one after the other, in an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from planner.models.families import families
from planner.models.presets import preset_names

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def shell_blocks() -> list[str]:
    return re.findall(r"```sh\n(.*?)```", README, re.DOTALL)


def test_the_first_commands_are_make_targets():
    targets = re.findall(r"^    make ([a-z-]+)$", README, re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text()
    assert targets == ["demo", "test"]
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)


def test_every_link_leads_somewhere():
    links = [link for link in re.findall(r"\]\(([^)]+)\)", README) if not link.startswith("http")]
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_nothing_is_left_to_fill_in():
    assert re.findall(r"@[A-Z]+@|TODO|XXX", README) == []


def test_the_counts_of_models_are_those_of_the_program():
    classes, presets = re.search(r"more than (\d+) Hugging Face classes .*?, (\d+) by name", README).groups()
    assert len({family.architecture for family in families()}) > int(classes)
    assert len(preset_names()) == int(presets)


@pytest.mark.slow
def test_the_shell_blocks_run_as_printed(tmp_path):
    bin_folder = Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{bin_folder}:{os.environ['PATH']}", "NO_COLOR": "1"}
    assert shell_blocks()
    for block in shell_blocks():
        ran = subprocess.run(
            ["bash", "-e", "-c", block], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, f"{block}\n{ran.stdout}\n{ran.stderr}"
    assert (tmp_path / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert (tmp_path / "launch" / "train.sh").exists()
