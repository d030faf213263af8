"""Turns layout flags into a `Layout`, refusing what this version cannot plan."""

from __future__ import annotations

from typing import Any

from costmodel.errors import BadInputError
from costmodel.spec import Recompute, Schedule
from planner.job import ONLY_ONE, PLANNED_SCHEDULES, Layout

MAX_DEGREE = 1_000_000

CHOICES = {
    "schedule": tuple(schedule.value for schedule in PLANNED_SCHEDULES),
    "recompute": tuple(mode.value for mode in Recompute),
}


def read_layout(flags: dict[str, Any]) -> Layout:
    """The layout that `flags` fix, by the names of `Layout`; None leaves a choice open.

    Raises BadInputError that names the flag, its value and the valid ones.
    """
    given = {name: value for name, value in flags.items() if value is not None}
    for name, value in given.items():
        flag = "--" + name.replace("_", "-")
        if name in CHOICES:
            if value not in CHOICES[name]:
                raise BadInputError(unsupported(flag, value, CHOICES[name]))
        elif name == "zero":
            if value not in range(4):
                raise BadInputError(f"{flag} is {value}, but must be 0, 1, 2 or 3")
        elif not 1 <= value <= MAX_DEGREE:
            raise BadInputError(f"{flag} is {value}, but must be a whole number from 1 to {MAX_DEGREE}")
        elif value != ONLY_ONE.get(name, value):
            raise BadInputError(unsupported(flag, value, (ONLY_ONE[name],)))
    if "schedule" in given:
        given["schedule"] = Schedule(given["schedule"])
    return Layout(**given)


def unsupported(flag: str, value: object, valid: tuple[object, ...]) -> str:
    """The sentence for a value of a known vocabulary that this version does not plan."""
    return f"{flag} is {value}, which is not supported by this version; valid: {', '.join(map(str, valid))}"
