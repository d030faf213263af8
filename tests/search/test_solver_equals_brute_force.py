"""The solver against brute force: the same step time, the same verdict, and a certificate that brute force confirms."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from brute_force import Tried, fastest, obeys, try_all
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from search_samples import AMPLE_BYTES, block, cluster, job, jobs, model, with_memory

from costmodel.predict import predict
from costmodel.schedules import ONE_STAGE_A_RANK
from costmodel.spec import PlanFile, Prediction, Verdict
from planner.frameworks import registry
from planner.job import Job, Layout
from planner.search import inner
from planner.search.solve import solve

REL = 1e-6
# Shrinking tries whole enumerations again and again, so a failure is shown as found.
THOROUGH = settings(
    max_examples=80,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
QUICK = settings(THOROUGH, max_examples=6, derandomize=True)


@dataclass(frozen=True)
class Problem:
    """A job with a memory limit, the choices fixed, and every plan of it."""

    job: Job
    fixed: Layout
    tried: list[Tried]
    limit_bytes: int


@st.composite
def limits(draw: st.DrawFn, tried: list[Tried]) -> int:
    """A memory limit that binds: exactly the need of some plan no larger than the fastest one, or a byte less."""
    best = fastest(tried, AMPLE_BYTES)
    if best is None:
        return AMPLE_BYTES
    needs = sorted({one.peak_high_bytes for one in tried if one.peak_high_bytes <= best.peak_high_bytes})
    return draw(st.sampled_from(needs)) - draw(st.sampled_from([0, 0, 0, 1]))


def assert_solved_exactly(problem: Problem) -> None:
    """`solve` finds what brute force finds, and claims no more than brute force confirms."""
    job, fixed = with_memory(problem.job, problem.limit_bytes), problem.fixed
    expected = fastest(problem.tried, problem.limit_bytes, lambda plan: obeys(job, fixed, plan))
    answer = solve(job, fixed)
    assert (answer.plan_file is None) == (answer.infeasible is not None)
    if expected is None:
        assert answer.infeasible is not None, f"brute force finds nothing, the solver {answer.plan_file.plan}"
        return
    assert answer.plan_file is not None, f"the solver misses {expected.plan}: {answer.infeasible}"
    plan, prediction = answer.plan_file.plan, answer.plan_file.prediction
    assert prediction.step_time_s == pytest.approx(expected.step_time_s, rel=REL), (plan, expected.plan)
    assert prediction == predict(job.model, job.workload, job.cluster, job.stack, plan)
    assert prediction.verdict is Verdict.FITS
    assert registry.get(job.framework).refusal(job.model, job.workload, plan) is None
    assert obeys(job, fixed, plan)
    assert_certificate_holds(problem, answer.plan_file)
    assert answer.plan_file.certificate.gap_in_space_frac == pytest.approx(0, abs=REL)


def assert_certificate_holds(problem: Problem, plan_file: PlanFile) -> None:
    """No plan of the whole space that fits undercuts the bound, and the gaps are those of bound and plan."""
    certificate, time_s = plan_file.certificate, plan_file.prediction.step_time_s
    best = fastest(problem.tried, problem.limit_bytes)
    assert certificate.lower_bound_s <= best.step_time_s * (1 + 1e-9)
    assert certificate.gap_frac == pytest.approx(1 - certificate.lower_bound_s / time_s, abs=1e-12)
    assert 0 <= certificate.gap_in_space_frac <= certificate.gap_frac + 1e-12
    assert certificate.restrictions == tuple(f"{name} = {value}" for name, value in problem.fixed.fixed().items())
    if not problem.fixed.fixed():
        assert certificate.gap_in_space_frac == certificate.gap_frac


def check_some_limits(data: st.DataObject, job: Job, num_limits: int) -> None:
    tried = try_all(job)
    assert_solved_exactly(Problem(job, Layout(), tried, AMPLE_BYTES))
    for _ in range(num_limits):
        assert_solved_exactly(Problem(job, Layout(), tried, data.draw(limits(tried))))


@pytest.mark.parametrize("framework", ["native", "megatron", "torchtitan"])
@QUICK
@given(data=st.data())
def test_equal_blocks(data: st.DataObject, framework: str) -> None:
    check_some_limits(data, data.draw(jobs(frameworks=(framework,))), num_limits=3)


@QUICK
@given(data=st.data(), job=jobs(frameworks=("native",), unequal=True))
def test_unequal_blocks(data: st.DataObject, job: Job) -> None:
    check_some_limits(data, job, num_limits=3)


@pytest.mark.parametrize("flop_per_s", [1e7, 1e9])
@pytest.mark.parametrize("vocab", [8, 400])
@pytest.mark.parametrize("pp", [2, 3])
def test_light_and_heavy_ends_of_a_pipeline(pp: int, vocab: int, flop_per_s: float) -> None:
    # Embedding and head are far lighter than a block, or heavier, so the best cut is uneven in either direction.
    of = job(model((block(), 4), vocab=vocab), cluster(pp, flop_per_s=flop_per_s), global_batch=6)
    fixed = Layout(pp=pp, recompute="none")
    tried = try_all(of, lambda plan: obeys(of, fixed, plan))
    plan_file = solve(of, fixed).plan_file
    assert plan_file.prediction.step_time_s == pytest.approx(fastest(tried, AMPLE_BYTES).step_time_s, rel=REL)
    assert plan_file.certificate.gap_in_space_frac == 0


@pytest.mark.slow
@THOROUGH
@given(data=st.data(), job=jobs(devices=(1, 2, 3, 4, 6, 8), max_blocks=4))
def test_equal_blocks_on_up_to_eight_devices(data: st.DataObject, job: Job) -> None:
    check_some_limits(data, job, num_limits=4)


@pytest.mark.slow
@THOROUGH
@given(data=st.data(), job=jobs(frameworks=("native",), devices=(2, 3, 4), max_blocks=4, unequal=True))
def test_unequal_blocks_on_up_to_four_devices(data: st.DataObject, job: Job) -> None:
    check_some_limits(data, job, num_limits=4)


@st.composite
def layouts(draw: st.DrawFn, job: Job) -> Layout:
    """One to three fixed choices, some of them impossible."""
    framework, devices = registry.get(job.framework), job.cluster.num_devices
    choices = {
        "tp": st.sampled_from([1, 2, devices]),
        "pp": st.sampled_from([1, 2, devices]),
        "dp": st.sampled_from([1, 2, devices]),
        "zero": st.sampled_from(framework.zero_stages),
        "micro_batch": st.sampled_from([1, 2]),
        "schedule": st.sampled_from(ONE_STAGE_A_RANK),
        "recompute": st.sampled_from(["none", "full"]),
    }
    names = draw(st.lists(st.sampled_from(sorted(choices)), min_size=1, max_size=3, unique=True))
    return Layout(**{name: draw(choices[name]) for name in names})


def check_layouts(data: st.DataObject, job: Job, num_layouts: int) -> None:
    tried = try_all(job)
    for _ in range(num_layouts):
        limit_bytes = data.draw(st.one_of(st.just(AMPLE_BYTES), limits(tried)))
        assert_solved_exactly(Problem(job, data.draw(layouts(job)), tried, limit_bytes))


@QUICK
@given(data=st.data(), job=jobs())
def test_fixed_choices(data: st.DataObject, job: Job) -> None:
    check_layouts(data, job, num_layouts=4)


@pytest.mark.slow
@THOROUGH
@given(data=st.data(), job=jobs(max_blocks=4))
def test_fixed_choices_on_many_jobs(data: st.DataObject, job: Job) -> None:
    check_layouts(data, job, num_layouts=6)


@QUICK
@given(data=st.data(), job=jobs(frameworks=("native",), unequal=True))
def test_tight_plans_count_only_if_allowed(data: st.DataObject, job: Job) -> None:
    tried = try_all(job)
    limit_bytes = data.draw(limits(tried))
    expected = fastest(tried, limit_bytes, allow_tight=True)
    answer = solve(with_memory(job, limit_bytes), Layout(), allow_tight=True)
    assert (answer.plan_file is None) == (expected is None)
    if expected is not None:
        assert answer.plan_file.prediction.step_time_s == pytest.approx(expected.step_time_s, rel=REL)
        assert answer.plan_file.prediction.verdict is not Verdict.DOES_NOT_FIT


@QUICK
@given(data=st.data(), job=jobs())
def test_the_same_question_has_the_same_answer(data: st.DataObject, job: Job) -> None:
    answers = [solve(job, Layout()) for _ in range(2)]
    if answers[0].plan_file is None:
        assert answers[0] == answers[1]
        return
    same = {"created": "", "certificate": None}
    first, second = (answer.plan_file.model_copy(update=same) for answer in answers)
    assert first.to_json() == second.to_json()
    one, other = (answer.plan_file.certificate.model_copy(update={"wall_s": 0.0}) for answer in answers)
    assert one == other


@QUICK
@given(job=jobs())
def test_alternatives_are_other_meshes_in_the_order_of_their_times(job: Job) -> None:
    plan_file = solve(job, Layout()).plan_file
    if plan_file is None:
        return
    shown = [(plan_file.plan, plan_file.prediction)]
    shown += [(other.plan, other.prediction) for other in plan_file.alternatives]
    times_s = [prediction.step_time_s for _, prediction in shown]
    assert times_s == sorted(times_s)
    meshes = {(p.tp, p.pp, p.dp, p.zero, p.micro_batch, p.schedule) for p, _ in shown}
    assert len(meshes) == len(shown)
    for plan, prediction in shown:
        assert prediction == predict(job.model, job.workload, job.cluster, job.stack, plan)
        assert isinstance(prediction, Prediction)
        assert prediction.verdict is Verdict.FITS


def test_cuts_that_are_alike_but_for_rounding_are_not_tried_one_by_one(monkeypatch) -> None:
    # With one micro-batch the stages run one after the other, so every cut that leaves the first stage alike takes
    # the same time, and the bound in whole numbers stays a part in 10^8 below it.
    of = job(model((block(num_kv_heads=4), 12)), cluster(6, latency_s=1e-2), framework="megatron", global_batch=1)
    calls = []
    best_cut = inner.best_cut
    monkeypatch.setattr(inner, "best_cut", lambda *args: calls.append(args) or best_cut(*args))
    certificate = solve(of, Layout(pp=6)).plan_file.certificate
    assert certificate.gap_in_space_frac <= 1e-6
    assert len(calls) < inner.MAX_CUTS
