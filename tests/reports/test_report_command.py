"""`planner report`: which run it shows beside a plan, and what it says of one that it leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest
from report_samples import local_answer, measurement

from costmodel.spec import PlanFile
from planner.cli.main import run

MEASURED = "Predicted against measured"


@pytest.fixture
def plan_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PlanFile:
    """The answer in plan.json of the current folder."""
    monkeypatch.chdir(tmp_path)
    plan_file = local_answer()
    Path("plan.json").write_text(plan_file.to_json())
    return plan_file


def write_run_of_another_workload(plan_file: PlanFile, name: str) -> None:
    """The run of the same layout with longer sequences."""
    workload = plan_file.workload.model_copy(update={"seq_len": 2 * plan_file.workload.seq_len})
    Path(name).write_text(measurement(plan_file.model_copy(update={"workload": workload})).to_json())


def page() -> str:
    return Path("report.html").read_text()


def test_the_run_beside_the_plan_is_shown(plan_file: PlanFile, capfd: pytest.CaptureFixture[str]) -> None:
    Path("measurement.json").write_text(measurement(plan_file).to_json())
    assert run(["report", "plan.json"]) == 0
    assert MEASURED in page()
    assert capfd.readouterr().err == ""


def test_a_run_of_another_question_beside_the_plan_is_left_out_with_a_note(
    plan_file: PlanFile, capfd: pytest.CaptureFixture[str]
) -> None:
    write_run_of_another_workload(plan_file, "measurement.json")
    assert run(["report", "plan.json"]) == 0
    assert MEASURED not in page()
    assert "measurement.json belongs to another plan file than plan.json" in capfd.readouterr().err


@pytest.mark.parametrize("text", ["", "{", '{"schema": "measurement/1"}', '{"schema": "measurement/2"}', "\0"])
def test_a_run_beside_the_plan_that_cannot_be_read_is_left_out_with_a_note(
    plan_file: PlanFile, text: str, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("measurement.json").write_text(text)
    assert run(["report", "plan.json"]) == 0
    assert MEASURED not in page()
    assert capfd.readouterr().err.startswith("left out: measurement measurement.json: ")


def test_a_run_of_another_question_is_refused_where_it_is_named(
    plan_file: PlanFile, capfd: pytest.CaptureFixture[str]
) -> None:
    write_run_of_another_workload(plan_file, "other.json")
    assert run(["report", "plan.json", "--measurement", "other.json"]) == 2
    error = capfd.readouterr().err
    assert "question_id" in error
    assert error.count("\n") == 1
    assert not Path("report.html").exists()
