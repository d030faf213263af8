"""Odd machines, models and layouts: every question has an answer or a reason, and both can be written as JSON."""

from __future__ import annotations

import json
from typing import Any

from brute_force import fastest, obeys, try_all
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search_samples import AMPLE_BYTES, block, cluster, job, model, with_memory

from costmodel.predict import predict
from costmodel.schedules import ONE_STAGE_A_RANK
from costmodel.spec import PlanFile, Verdict
from planner.check import check
from planner.cli.answer_object import answer_object
from planner.job import Answer, Job, Layout
from planner.search.solve import solve

LAYOUTS = st.fixed_dictionaries(
    {},
    optional={
        "tp": st.sampled_from([1, 2, 3, 7]),
        "pp": st.sampled_from([1, 2, 4]),
        "dp": st.sampled_from([1, 2, 7]),
        "zero": st.integers(0, 3),
        "micro_batch": st.sampled_from([1, 2, 7]),
        "schedule": st.sampled_from(ONE_STAGE_A_RANK),
        "recompute": st.sampled_from(["none", "full"]),
    },
).map(lambda choices: Layout(**choices))


@st.composite
def odd_jobs(draw: st.DrawFn) -> Job:
    """Prime numbers of devices and sequences, one block, one token, a vocabulary of one, widths that nothing divides,
    tied embeddings, devices a thousand times faster or slower than their links."""
    blocks = block(draw(st.sampled_from([1, 7, 32])), draw(st.sampled_from([1, 2, 4])))
    spec = model((blocks, draw(st.integers(1, 2))), vocab=draw(st.sampled_from([1, 7, 401])), tied=draw(st.booleans()))
    speeds: dict[str, Any] = {
        name: usual * draw(st.sampled_from([1e-3, 1.0, 1e3]))
        for name, usual in [("flop_per_s", 1e8), ("mem_bytes_per_s", 1e8), ("inner_bytes_per_s", 1e7)]
    }
    return job(
        spec,
        cluster(draw(st.sampled_from([1, 2, 3, 5, 7])), per_node=draw(st.sampled_from([1, 3, 8])), **speeds),
        framework=draw(st.sampled_from(["native", "megatron", "torchtitan"])),
        global_batch=draw(st.sampled_from([1, 2, 7, 13])),
        seq_len=draw(st.sampled_from([1, 3, 8])),
        step_overhead_s=draw(st.sampled_from([0.0, 1e-2])),
    )


def assert_sound(of: Job, answer: Answer) -> None:
    """Strict JSON in both forms, a reason where there is no plan, and a nearest plan that fits."""
    json.dumps(answer_object(answer, None), allow_nan=False)
    assert answer.plan_file is not None or answer.infeasible is not None
    if answer.plan_file is not None:
        assert PlanFile.from_json(answer.plan_file.to_json(), "the answer") == answer.plan_file
    if answer.infeasible is not None and (plan := answer.infeasible.nearest) is not None:
        machine = of.cluster.model_copy(update={"num_devices": plan.num_ranks})
        assert predict(of.model, of.workload, machine, of.stack, plan).verdict is Verdict.FITS


@settings(max_examples=25, derandomize=True, suppress_health_check=list(HealthCheck))
@given(of=odd_jobs(), fixed=LAYOUTS, tightness=st.floats(0, 1))
def test_every_odd_question_is_answered(of: Job, fixed: Layout, tightness: float) -> None:
    tried = try_all(of)
    needs = sorted(one.peak_high_bytes for one in tried)
    for limit_bytes in (AMPLE_BYTES, needs[int(tightness * (len(needs) - 1))] if needs else 1000, 1):
        small = with_memory(of, limit_bytes)
        answer = solve(small, fixed)
        assert_sound(small, answer)
        assert_sound(small, check(small, fixed))
        best = fastest(tried, limit_bytes, lambda plan: obeys(of, fixed, plan))
        assert (answer.plan_file is None) == (best is None)
        if best is not None:
            assert abs(answer.plan_file.prediction.step_time_s / best.step_time_s - 1) < 1e-6
