"""Predictions follow from the configuration alone: neither results nor the carried copy of the runs enter."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from planner.cli.main import run
from tests.validation.sample_runs import FORBIDDEN, as_csv, carried

TOP = Path(__file__).parents[2]


def without_ids(text: str) -> list[str]:
    """The lines of a file of predictions but their first cells; no id here holds a comma."""
    return [line.partition(",")[2] for line in text.splitlines()]


def predictions_of(text: str, folder: Path) -> str:
    """What `planner validate` writes for a file with `text`."""
    (folder / "runs.csv").write_text(text)
    assert run(["validate", str(folder / "runs.csv"), "-o", str(folder / "predictions.csv"), "--json"]) == 0
    return (folder / "predictions.csv").read_text()


@pytest.fixture(scope="module")
def predicted(tmp_path_factory: pytest.TempPathFactory) -> str:
    return predictions_of(as_csv(list(carried())), tmp_path_factory.mktemp("predicted"))


def test_results_shuffled_and_blanked_change_nothing(predicted: str, tmp_path: Path) -> None:
    rows = list(carried())
    columns = {name: [row[name] for row in rows] for name in FORBIDDEN}
    chance = random.Random(0)
    for values in columns.values():
        chance.shuffle(values)
    shuffled = [{**row, **{name: values[index] for name, values in columns.items()}} for index, row in enumerate(rows)]
    assert without_ids(predictions_of(as_csv(shuffled), tmp_path)) == without_ids(predicted)
    blank = [{**row, **dict.fromkeys(FORBIDDEN, "")} for row in rows]
    assert without_ids(predictions_of(as_csv(blank), tmp_path)) == without_ids(predicted)


def test_without_the_carried_copy_they_are_the_same_bytes(tmp_path: Path, predicted: str) -> None:
    """Only the folders that are installed, in another place."""
    for name in ("costmodel", "planner", "reports"):
        shutil.copytree(TOP / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "mine.csv").write_text(as_csv(list(carried())))
    subprocess.run(
        [sys.executable, "-m", "planner", "validate", "mine.csv", "-o", "out.csv"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        check=True,
        capture_output=True,
    )
    assert (tmp_path / "out.csv").read_text() == predicted
