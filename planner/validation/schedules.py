"""Pipeline schedules as sources write them."""

from __future__ import annotations

import re

from costmodel.spec import Schedule
from planner.validation.configuration import Configuration
from planner.validation.unsaid import Unsaid, faulty

_SCHEDULES: tuple[tuple[str, Schedule], ...] = (
    (r"(?!.*non.?interleaved).*interleaved.*", Schedule.INTERLEAVED),
    (r"gpipe( \(.*)?|all.?forward.?all.?backward", Schedule.GPIPE),
    (r"non.?interleaved( 1f1b)?|1f1b( \(.*)?|pipedream.?flush|dapple", Schedule.ONE_F_ONE_B),
)
"""The first that the whole name matches decides."""

_NO_PIPELINE = ("none", "no", "off")


def schedule_of(run: Configuration) -> Schedule | Unsaid:
    """The schedule of `run`; 1F1B, or its interleaved form where a rank has several stages, unless told otherwise.

    Unsaid for a name that is not known, and for one that vpp contradicts.
    """
    vpp = run.vpp or 1
    usual = Schedule.ONE_F_ONE_B if vpp == 1 else Schedule.INTERLEAVED
    if run.schedule is None:
        return usual
    lower = run.schedule.lower()
    if lower in _NO_PIPELINE:
        if run.pp not in (None, 1):
            return faulty(f"schedule is {run.schedule!r}, but pp is {run.pp}")
        return usual
    named = next((schedule for pattern, schedule in _SCHEDULES if re.fullmatch(pattern, lower)), None)
    if named is None:
        known = ", ".join(Schedule)
        return faulty(f"schedule is {run.schedule!r}, which is not known; known are {known}")
    if named is Schedule.INTERLEAVED and vpp == 1:
        if run.pp == 1:
            return usual
        stated = "missing" if run.vpp is None else "1"
        return faulty(f"vpp is {stated}, but schedule is {run.schedule!r}, which needs the stages of a rank")
    if named is Schedule.GPIPE and vpp > 1:
        return faulty(f"vpp is {vpp}, but schedule is {run.schedule!r}, which has one stage a rank")
    # Several stages of a rank in 1F1B order are what others call interleaved.
    return usual if named is Schedule.ONE_F_ONE_B else named
