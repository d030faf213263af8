"""Ids of plans: stored ones stay, and equal plans have equal ones."""

from __future__ import annotations

from costmodel.spec import Plan, Recompute

STORED = {
    "schema": "plan/1",
    "framework": "native",
    "tp": 1,
    "cp": 1,
    "ep": 1,
    "pp": 2,
    "vpp": 1,
    "dp": 4,
    "zero": 1,
    "micro_batch": 1,
    "schedule": "1f1b",
    "cut": [18, 16],
    "recompute_layers": ["none"] * 34,
}
"""As `solve --model llama-3-8b --cluster h100-sxm --gpus 8` wrote it before plans had `sp` and `etp`."""


def test_a_stored_plan_keeps_its_id() -> None:
    assert Plan.from_data(STORED, "plan").plan_id == "64b127731b00"


def test_only_other_values_than_the_default_make_another_plan() -> None:
    plan = Plan(framework="native", tp=2, dp=2, cut=(3,), recompute_layers=(Recompute.NONE,) * 3)
    same = Plan.from_data(plan.model_dump(mode="json"), "plan")
    others = [plan.model_copy(update=update) for update in ({"sp": False}, {"etp": 1}, {"micro_batch": 2})]
    assert same.plan_id == plan.plan_id
    assert len({plan.plan_id, *(other.plan_id for other in others)}) == 4


def test_words_that_say_the_same_make_one_plan() -> None:
    layout = {"framework": "native", "dp": 2, "cut": (3,), "recompute_layers": (Recompute.NONE,) * 3}
    # One rank cannot split a sequence; experts split as the rest is need no degree of their own.
    assert Plan(sp=False, **layout) == Plan(**layout)
    assert Plan(sp=False, **layout).plan_id == Plan(**layout).plan_id
    assert Plan(tp=2, etp=2, **layout).plan_id == Plan(tp=2, **layout).plan_id
    assert Plan(tp=2, sp=False, **layout).plan_id != Plan(tp=2, **layout).plan_id
