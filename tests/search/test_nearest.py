"""When what is asked for does not work: the least shortage, and the nearest plan, both as brute force finds them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from brute_force import Tried, try_all
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from search_samples import block, cluster, job, jobs, model, with_memory

from costmodel.predict import predict
from costmodel.spec import MemoryItem, Plan, Recompute, Schedule, Source, StageMemory, Verdict
from planner.check import check, plan_of_layout
from planner.job import Job, Layout
from planner.search import nearest as nearest_module
from planner.search.nearest import changed
from planner.search.shortage import MOMENTS, memory_shortage
from planner.search.solve import solve

QUICK = settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))

LAYOUTS = st.fixed_dictionaries(
    {},
    optional={
        "tp": st.sampled_from([1, 2]),
        "pp": st.sampled_from([1, 2]),
        "zero": st.sampled_from([0, 1]),
        "micro_batch": st.sampled_from([1, 2]),
        "recompute": st.sampled_from(["none", "full"]),
    },
).map(lambda choices: Layout(**choices))


def num_changes(fixed: Layout, plan: Plan) -> int:
    """How many of the fixed choices `plan` does not follow; ZeRO says nothing of one data-parallel rank."""
    return sum(getattr(plan, name) != value for name, value in fixed.fixed().items() if name != "zero" or plan.dp > 1)


def without_growth(of: Job) -> Job:
    return replace(of, cluster_of=lambda _num_gpus: None)


def least_peak(tried: list[Tried], fixed: Layout, *, allow_tight: bool) -> int:
    return min(
        one.peak_low_bytes if allow_tight else one.peak_high_bytes for one in tried if num_changes(fixed, one.plan) == 0
    )


@pytest.mark.parametrize("unequal", [False, True])
@QUICK
@given(data=st.data())
def test_the_shortage_is_that_of_the_leanest_plan(data: st.DataObject, unequal: bool) -> None:
    frameworks = ("native",) if unequal else ("native", "megatron", "torchtitan")
    of = data.draw(jobs(frameworks=frameworks, unequal=unequal))
    fixed, allow_tight = data.draw(LAYOUTS), data.draw(st.booleans())
    tried = try_all(of)
    assume(any(num_changes(fixed, one.plan) == 0 for one in tried))
    least_bytes = least_peak(tried, fixed, allow_tight=allow_tight)
    small = without_growth(with_memory(of, least_bytes - 1))
    answer = solve(small, fixed, allow_tight=allow_tight)
    assert answer.infeasible.rule == "memory"
    assert answer.infeasible.needed == least_bytes
    assert answer.infeasible.missing_bytes == 1
    assert solve(with_memory(of, least_bytes), fixed, allow_tight=allow_tight).plan_file is not None


@QUICK
@given(data=st.data(), of=jobs(frameworks=("native", "megatron")))
def test_the_nearest_plan_changes_least_and_is_the_fastest_of_these(data: st.DataObject, of: Job) -> None:
    tried, fixed = try_all(of), data.draw(LAYOUTS)
    fixed_ones = [one for one in tried if num_changes(fixed, one.plan) == 0]
    assume(fixed.fixed() and fixed_ones)
    limit_bytes = least_peak(tried, fixed, allow_tight=False) - 1
    answer = solve(without_growth(with_memory(of, limit_bytes)), fixed)
    fitting = [one for one in tried if one.peak_high_bytes <= limit_bytes]
    if not fitting:
        assert answer.infeasible.nearest is None
        return
    nearest = answer.infeasible.nearest
    least = min(num_changes(fixed, one.plan) for one in fitting)
    fastest_s = min(one.step_time_s for one in fitting if num_changes(fixed, one.plan) == least)
    prediction = predict(of.model, of.workload, with_memory(of, limit_bytes).cluster, of.stack, nearest)
    assert prediction.verdict is Verdict.FITS
    assert num_changes(fixed, nearest) == len(changed(fixed, nearest)) == least
    assert prediction.step_time_s == pytest.approx(fastest_s, rel=1e-6)
    for name in changed(fixed, nearest):
        assert f"{name} {getattr(nearest, name)} instead of {getattr(fixed, name)}" in answer.infeasible.sentence


def test_the_leanest_plan_may_have_an_uneven_cut() -> None:
    # The first of two stages keeps two micro-batches, the second one, so it is lean to give the first fewer blocks.
    of = job(model((block(), 4), vocab=8), cluster(2), global_batch=2, seq_len=256)
    fixed = Layout(pp=2, micro_batch=1, schedule=Schedule.ONE_F_ONE_B, recompute="none")
    tried = [one for one in try_all(of) if num_changes(fixed, one.plan) == 0]
    least_bytes = least_peak(tried, fixed, allow_tight=False)
    assert least_bytes < min(one.peak_high_bytes for one in tried if one.plan.cut == (3, 3))
    assert solve(with_memory(of, least_bytes), fixed).plan_file.plan.cut == (2, 4)
    assert solve(with_memory(of, least_bytes - 1), fixed).infeasible.needed == least_bytes


def test_a_shortage_names_the_moment_and_what_is_largest_then() -> None:
    of = job(model((block(), 2)), cluster(1))
    plan = plan_of_layout(of, Layout())
    prediction = predict(of.model, of.workload, of.cluster, of.stack, plan)

    def item(name: str, *sizes: int) -> MemoryItem:
        steady, first_step, checkpoint = sizes
        return MemoryItem(
            name=name,
            steady_bytes=steady,
            first_step_bytes=first_step,
            checkpoint_bytes=checkpoint,
            source=Source.ANALYTIC,
        )

    # Activations are the largest item of a step (50), but the peak is the checkpoint's 30 + 40 = 70 bytes.
    stage = StageMemory(
        stage=0, items=(item("activations", 50, 0, 0), item("weights", 10, 30, 30), item("staging", 0, 0, 40))
    )
    sizes = {"peak_memory_low_bytes": 60, "peak_memory_high_bytes": 80, "memory_limit_bytes": 50}
    prediction = prediction.model_copy(update={"stages": (stage,), "peak_stage": 0, **sizes})
    high = memory_shortage(plan, prediction)
    assert "while a checkpoint is written or read, of which staging: 40 B" in high.sentence
    assert (high.needed, high.limit, high.missing_bytes) == (80, 50, 30)
    low = memory_shortage(plan, prediction, allow_tight=True)
    assert (low.needed, low.missing_bytes) == (60, 10)
    assert "at least" in low.sentence


def test_the_moments_are_those_of_the_stage() -> None:
    of = job(model((block(), 2)), cluster(2))
    plan = plan_of_layout(of, Layout(recompute=Recompute.FULL))
    for stage in predict(of.model, of.workload, of.cluster, of.stack, plan).stages:
        assert max(moment.of_stage(stage) for moment in MOMENTS) == stage.peak_bytes
        for moment in MOMENTS:
            assert moment.of_stage(stage) == sum(moment.of_item(item) for item in stage.items)


def test_the_hint_has_a_limit_of_its_own_and_the_reason_stands_without_it(monkeypatch) -> None:
    of, layout = job(model((block(num_kv_heads=4), 4)), cluster(8), global_batch=8), Layout(tp=8)
    reason = check(of, layout).infeasible
    assert reason.nearest is not None
    monkeypatch.setattr(nearest_module, "LOOK_FOR_S", 0.0)
    bare = check(of, layout).infeasible
    assert bare.nearest is None
    assert reason.sentence.startswith(bare.sentence)
