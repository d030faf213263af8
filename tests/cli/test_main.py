"""What becomes of errors: one sentence and a code for those of a user, a traceback for ours."""

from __future__ import annotations

from typing import NoReturn

import click
import pytest

from costmodel.errors import BadInputError, MissingError, RunFailedError
from planner.cli import main


def fail_with(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> int:
    """The exit code of a command that raises `error`."""

    @click.command()
    def broken() -> NoReturn:
        raise error

    monkeypatch.setattr(main.cli, "get_command", lambda _context, _name: broken)
    return main.run(["broken"])


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BadInputError("field x is 1; use 2"), 2),
        (click.exceptions.Exit(3), 3),
        (MissingError("no profile; run y"), 4),
        (RunFailedError("rank 1 died"), 5),
        (KeyboardInterrupt(), 130),
    ],
)
def test_expected_errors_have_their_code_and_no_traceback(
    error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fail_with(error, monkeypatch) == code
    stderr = capsys.readouterr().err
    assert "Traceback" not in stderr
    if isinstance(error, main.PlannerError):
        assert stderr == f"planner: {error}\n"


def test_a_defect_prints_a_traceback_and_exits_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fail_with(ZeroDivisionError("ours"), monkeypatch) == 1
    stderr = capsys.readouterr().err
    assert "ZeroDivisionError: ours" in stderr
    assert "defect of planner" in stderr


def test_a_hostile_value_cannot_steer_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fail_with(BadInputError("name \x1b[2J\u202e is\nbad"), monkeypatch)
    assert capsys.readouterr().err == "planner: name ?[2J? is bad\n"


def test_a_broken_pipe_that_is_not_stdout_is_a_defect(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fail_with(BrokenPipeError(32, "Broken pipe"), monkeypatch) == 1
    assert "BrokenPipeError" in capsys.readouterr().err


def test_an_exit_that_something_else_wants_is_not_taken_for_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit):
        fail_with(SystemExit(7), monkeypatch)


def test_wrong_usage_is_one_sentence_with_the_way_to_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["solve", "--gpus", "many"]) == 2
    assert capsys.readouterr().err == (
        "planner: invalid value for '--gpus': 'many' is not a valid integer; see `planner solve --help`\n"
    )
