"""The errors a user can cause, each with the exit code of the command line.

PlannerError
├── BadInputError         exit 2   a value the user gave is wrong
├── MissingError          exit 4   a dependency, device or file is not there; says how to get it
└── RunFailedError        exit 5   a training or measuring run failed

"Nothing fits" is not an error but a value: `costmodel.spec.Infeasible` (exit 3). Every other exception is a
defect of ours (exit 1).
"""

from __future__ import annotations

EXIT_OK = 0
EXIT_DEFECT = 1
EXIT_BAD_INPUT = 2
EXIT_INFEASIBLE = 3
EXIT_MISSING = 4
EXIT_RUN_FAILED = 5


class PlannerError(Exception):
    """An expected failure: its text is one sentence for the user, naming what, where, the value and what would do."""

    exit_code: int = EXIT_DEFECT


class BadInputError(PlannerError):
    """Something the user gave cannot be used."""

    exit_code = EXIT_BAD_INPUT


class MissingError(PlannerError):
    """Something needed is not here (dependency, device, profile); the text names the command that gets it."""

    exit_code = EXIT_MISSING


class RunFailedError(PlannerError):
    """A run started and did not finish."""

    exit_code = EXIT_RUN_FAILED
