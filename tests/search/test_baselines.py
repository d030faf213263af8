"""Rules of thumb: the plans are what their sentences say, in every framework."""

from __future__ import annotations

import pytest
from search_samples import AMPLE_BYTES, block, cluster, job, model, with_memory

from costmodel.predict import predict
from costmodel.spec import Baseline, Recompute, Verdict
from planner.frameworks import registry
from planner.job import Job, setting_of
from planner.search import baselines


def both(of: Job) -> tuple[Baseline, Baseline]:
    first, second = baselines.all_baselines(setting_of(of), registry.get(of.framework))
    assert (first.name, second.name) == (baselines.TP_PP_DP, baselines.ZERO_3)
    return first, second


def eight_devices(framework: str = "native", **changes) -> Job:
    """Two nodes of four; 4 equal blocks with 4 heads."""
    return job(model((block(num_kv_heads=4), 4)), cluster(8), framework=framework, global_batch=16, **changes)


@pytest.mark.parametrize(("framework", "zero"), [("native", 1), ("megatron", 1), ("torchtitan", 0)])
def test_with_ample_memory_everything_is_data_parallel(framework, zero):
    # torchtitan shards gradients too where it shards at all without a pipeline, so ZeRO-1 is not to be had.
    plan = both(eight_devices(framework))[0].plan
    assert (plan.tp, plan.pp, plan.dp, plan.zero, plan.micro_batch) == (1, 1, 8, zero, 1)
    assert plan.recompute == "none"


@pytest.mark.parametrize("framework", ["native", "megatron", "torchtitan"])
def test_tensor_parallelism_grows_inside_the_node_then_the_pipeline(framework):
    of, widths = eight_devices(framework), []
    limit_bytes = both(of)[0].prediction.peak_memory_high_bytes
    while (baseline := both(with_memory(of, limit_bytes))[0]).prediction.verdict is Verdict.FITS:
        plan, prediction = baseline.plan, baseline.prediction
        assert prediction.peak_memory_high_bytes <= limit_bytes
        assert plan.tp <= 4
        assert plan.tp == 4 or plan.pp == 1
        assert plan.zero == (1 if plan.dp > 1 and (framework != "torchtitan" or plan.pp > 1) else 0)
        widths.append((plan.tp * plan.pp, plan.recompute == Recompute.FULL))
        limit_bytes = prediction.peak_memory_high_bytes - 1
    assert widths == sorted(widths)
    assert widths[-1][0] > 4
    assert baseline.plan is not None


def test_zero_3_takes_the_largest_micro_batch_that_fits_and_recomputes_only_if_none_does():
    # 16 sequences on 8 ranks: micro-batches of 2 or 1.
    of, found = eight_devices(), []
    limit_bytes = AMPLE_BYTES
    while (baseline := both(with_memory(of, limit_bytes))[1]).prediction.verdict is Verdict.FITS:
        plan = baseline.plan
        assert (plan.tp, plan.pp, plan.dp, plan.zero) == (1, 1, 8, 3)
        found.append((plan.recompute, plan.micro_batch))
        limit_bytes = baseline.prediction.peak_memory_high_bytes - 1
    assert found[0] == ("none", 2)
    assert found == [one for one in [("none", 2), ("none", 1), ("full", 2), ("full", 1)] if one in found]
    assert len(found) >= 3


def test_a_baseline_that_fits_nowhere_still_shows_its_last_plan():
    for baseline in both(with_memory(eight_devices(), 1000)):
        assert baseline.prediction.verdict is Verdict.DOES_NOT_FIT


def test_a_baseline_that_the_framework_cannot_express_says_why():
    baseline = both(eight_devices("megatron"))[1]
    assert baseline.plan is None
    assert baseline.infeasible.rule == "zero_expressible"
    assert "zero = 3" in baseline.infeasible.sentence


def test_a_batch_that_no_rank_count_divides_is_named():
    of = job(model((block(), 2)), cluster(3), global_batch=4)
    baseline = both(of)[1]
    assert baseline.infeasible.rule == "batch_divides"
    assert "global_batch = 4" in baseline.infeasible.sentence


def test_predictions_of_baselines_are_those_of_predict():
    of = eight_devices()
    for baseline in both(of):
        assert baseline.prediction == predict(of.model, of.workload, of.cluster, of.stack, baseline.plan)
