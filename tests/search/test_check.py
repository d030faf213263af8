"""check(): the layout that the flags describe, the rule that forbids it, what is missing, and the nearest plan."""

from __future__ import annotations

from dataclasses import replace

import pytest
from brute_force import try_all
from search_samples import block, cluster, job, model, with_memory

from costmodel.predict import predict
from costmodel.spec import Infeasible, Schedule, Verdict
from planner.check import check, plan_of_layout
from planner.frameworks import registry
from planner.job import Job, Layout
from planner.search.solve import solve


def eight_devices(framework: str = "native", global_batch: int = 8) -> Job:
    return job(model((block(num_kv_heads=4), 4)), cluster(8), framework=framework, global_batch=global_batch)


def assert_nearest_works(of: Job, infeasible: Infeasible) -> None:
    """The nearest plan can be expressed and really fits on as many devices as it has ranks."""
    plan = infeasible.nearest
    assert plan is not None
    assert registry.get(of.framework).refusal(of.model, of.workload, plan) is None
    machine = of.cluster.model_copy(update={"num_devices": plan.num_ranks})
    assert predict(of.model, of.workload, machine, of.stack, plan).verdict is Verdict.FITS
    assert f"tp {plan.tp} x pp {plan.pp} x dp {plan.dp}" in infeasible.sentence


@pytest.mark.parametrize(
    ("framework", "layout", "expected"),
    [
        ("native", Layout(), {"tp": 1, "pp": 1, "dp": 8, "zero": 0, "micro_batch": 1}),
        ("native", Layout(tp=2, pp=2), {"tp": 2, "pp": 2, "dp": 2, "zero": 0, "schedule": Schedule.ONE_F_ONE_B}),
        ("torchtitan", Layout(), {"dp": 8, "zero": 3}),
        ("torchtitan", Layout(pp=2), {"pp": 2, "dp": 4, "zero": 1}),
        ("torchtitan", Layout(tp=4, pp=2), {"dp": 1, "zero": 0}),
        ("native", Layout(zero=2, micro_batch=2, dp=4, tp=2), {"zero": 2, "micro_batch": 2, "dp": 4}),
        ("native", Layout(pp=2, schedule=Schedule.GPIPE), {"schedule": Schedule.GPIPE, "cut": (3, 3)}),
        ("native", Layout(recompute="full"), {"recompute": "full"}),
    ],
)
def test_what_is_left_out_takes_the_default_of_the_framework(framework, layout, expected):
    plan = plan_of_layout(eight_devices(framework), layout)
    assert {name: getattr(plan, name) for name in expected} == expected
    assert plan.num_ranks == 8


def test_a_layout_that_fits_comes_back_with_its_prediction_alone():
    of = eight_devices()
    answer = check(of, Layout(tp=2, pp=2))
    assert answer.infeasible is None
    file = answer.plan_file
    assert file.certificate is None
    assert file.prediction == predict(of.model, of.workload, of.cluster, of.stack, file.plan)
    assert len(file.baselines) == 2


@pytest.mark.parametrize(
    ("layout", "rule", "words"),
    [
        (Layout(tp=3), "num_ranks", ("tp x pp = 3 x 1 = 3", "8 GPUs", "1, 2, 4, 8")),
        (Layout(tp=2, dp=2), "num_ranks", ("2 x 1 x 2 = 4", "dp must be 4")),
        (Layout(pp=8), "stages_hold_layers", ("pp = 8", "6 layers")),
        (Layout(tp=8), "heads_divide", ("tp = 8", "num_attention_heads = 4")),
        (Layout(micro_batch=3), "batch_divides", ("micro_batch = 3", "8 / 8")),
        (Layout(pp=2, micro_batch=2), "enough_microbatches", ("global_batch = 8", "pp = 2")),
    ],
)
def test_a_layout_that_cannot_be_names_the_rule_the_value_and_a_plan_that_can(layout, rule, words):
    of = eight_devices()
    answer = check(of, layout)
    assert answer.plan_file is None
    assert answer.infeasible.rule == rule
    assert all(word in answer.infeasible.sentence for word in words), answer.infeasible.sentence
    assert_nearest_works(of, answer.infeasible)


def assert_out_of_memory(of: Job, infeasible: Infeasible) -> None:
    assert infeasible.rule == "memory"
    limit_bytes = of.cluster.device.memory_limit_bytes
    assert infeasible.limit == limit_bytes
    assert infeasible.missing_bytes == infeasible.needed - limit_bytes > 0
    assert infeasible.stage is not None


def test_a_layout_that_does_not_fit_says_what_is_missing_and_what_would_fit():
    # Half of what the layout needs: sharding makes room.
    of = eight_devices()
    peak_bytes = check(of, Layout(zero=0)).plan_file.prediction.peak_memory_bytes
    small = with_memory(of, peak_bytes // 2)
    answer = check(small, Layout(zero=0))
    assert answer.plan_file.prediction.verdict is Verdict.DOES_NOT_FIT
    assert_out_of_memory(small, answer.infeasible)
    assert_nearest_works(small, answer.infeasible)


def nothing_fits() -> Job:
    """A job with a byte less than its smallest plan needs."""
    of = job(model((block(), 2)), cluster(2))
    return with_memory(of, min(one.peak_high_bytes for one in try_all(of)) - 1)


def test_when_nothing_fits_the_sentence_names_the_shortage_and_more_gpus_that_do():
    of = nothing_fits()
    answer = solve(of, Layout())
    assert answer.plan_file is None
    assert_out_of_memory(of, answer.infeasible)
    assert_nearest_works(of, answer.infeasible)
    assert answer.infeasible.nearest.num_ranks == 4
    assert "on 4 GPUs" in answer.infeasible.sentence


def test_a_cluster_that_cannot_grow_has_no_nearest_plan():
    of = replace(nothing_fits(), cluster_of=lambda _num_gpus: None)
    answer = solve(of, Layout())
    assert_out_of_memory(of, answer.infeasible)
    assert answer.infeasible.nearest is None


def test_a_choice_that_does_not_fit_is_the_one_to_give_up():
    of = eight_devices()
    peak_bytes = check(of, Layout(zero=0)).plan_file.prediction.peak_memory_bytes
    small = with_memory(of, peak_bytes // 2)
    answer = solve(small, Layout(zero=0, tp=1, pp=1))
    assert_out_of_memory(small, answer.infeasible)
    assert_nearest_works(small, answer.infeasible)
    assert "instead of" in answer.infeasible.sentence


def test_a_choice_that_no_mesh_has_is_refused_by_name():
    of = eight_devices()
    answer = solve(of, Layout(tp=3))
    assert answer.plan_file is None
    assert "tp = 3" in answer.infeasible.sentence
    assert_nearest_works(of, answer.infeasible)
