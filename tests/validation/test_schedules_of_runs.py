"""The schedule of a row is that of its column, or the row says why it has none."""

from __future__ import annotations

import pytest

from costmodel.spec import Schedule
from planner.validation.express import Job, express
from planner.validation.schedules import schedule_of
from planner.validation.unsaid import Unsaid
from tests.validation.sample_runs import carried, configuration


@pytest.mark.parametrize(
    ("text", "vpp", "schedule"),
    [
        ("", "", Schedule.ONE_F_ONE_B),
        ("", "2", Schedule.INTERLEAVED),
        ("1F1B", "1", Schedule.ONE_F_ONE_B),
        ("1f1b", "2", Schedule.INTERLEAVED),
        ("GPipe", "", Schedule.GPIPE),
        ("gpipe", "1", Schedule.GPIPE),
        ("interleaved-1f1b", "2", Schedule.INTERLEAVED),
        ("interleaved 1F1B (sync, no p2p overlap)", "2", Schedule.INTERLEAVED),
        ("1F1B-interleaved", "2", Schedule.INTERLEAVED),
        ("Interleaved1F1B", "2", Schedule.INTERLEAVED),
        ("non-interleaved 1F1B", "", Schedule.ONE_F_ONE_B),
        ("1F1B (non-interleaved)", "", Schedule.ONE_F_ONE_B),
    ],
)
def test_schedules_go_by_name(text: str, vpp: str, schedule: Schedule) -> None:
    job = express(configuration(schedule=text, vpp=vpp))
    assert isinstance(job, Job), job
    assert job.plan.schedule is schedule


@pytest.mark.parametrize(
    ("cells", "note"),
    [
        ({"schedule": "spiral"}, "schedule is 'spiral', which is not known; known are gpipe, 1f1b, interleaved"),
        (
            {"schedule": "interleaved"},
            "vpp is missing, but schedule is 'interleaved', which needs the stages of a rank",
        ),
        (
            {"schedule": "interleaved", "vpp": "1"},
            "vpp is 1, but schedule is 'interleaved', which needs the stages of a rank",
        ),
        ({"schedule": "gpipe", "vpp": "2"}, "vpp is 2, but schedule is 'gpipe', which has one stage a rank"),
        ({"schedule": "none"}, "schedule is 'none', but pp is 2"),
    ],
)
def test_schedules_that_cannot_be_are_named(cells: dict[str, str], note: str) -> None:
    found = express(configuration(**cells))
    assert isinstance(found, Unsaid)
    assert found.note == note


def test_without_a_pipeline_no_schedule_matters() -> None:
    for text in ("none", "interleaved", "1f1b", ""):
        found = express(configuration(schedule=text, pp="1", dp="4"))
        assert found == express(configuration(schedule="none", pp="1", dp="4"))


def test_carried_schedules_are_known_or_gaps() -> None:
    """Those of zero-bubble pipelines are gaps; two of the others state their vpp in the name too."""
    texts = {row["schedule"] for row in carried()}
    unknown = {
        text for text in texts if isinstance(schedule_of(configuration(schedule=text, vpp="2", pp="1", dp="4")), Unsaid)
    }
    assert unknown == {"V-half", "V-min", "ZBV", "zero-bubble"}
