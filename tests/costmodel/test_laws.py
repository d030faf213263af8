"""Laws of predict() on random plans: terms add up, bounds hold, more hardware is never worse, sharding saves."""

from __future__ import annotations

import copy
from typing import Any

from costmodel_samples import BLOCK, EMBEDDING, HEAD, cluster, model, plan, stack, tier, workload
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from costmodel.predict import predict
from costmodel.schedules import ONE_STAGE_A_RANK, SCHEDULES
from costmodel.spec import LayerRun, Part, Plan, Precision, Prediction, Source, Verdict
from costmodel.stacks import STACKS
from tests.samples.blocks import with_sizes

BLOCKS = 4
SHAPE = with_sizes(BLOCK, num_heads=4, num_kv_heads=4)
MODEL = model(
    runs=(
        LayerRun(part=Part.EMBEDDING, layer=EMBEDDING),
        LayerRun(part=Part.BLOCKS, layer=SHAPE, count=BLOCKS),
        LayerRun(part=Part.HEAD, layer=HEAD),
    )
)
WORKLOADS = st.builds(workload, global_batch=st.sampled_from([8, 16]), precision=st.sampled_from(Precision))
SOFTWARE = st.sampled_from(STACKS)
QUICK = settings(max_examples=60)


@st.composite
def plans(draw: st.DrawFn, pps: tuple[int, ...] = (1, 2, 3), dps: tuple[int, ...] = (1, 2, 4)) -> Plan:
    pp = draw(st.sampled_from(pps))
    borders = sorted(draw(st.sets(st.integers(1, BLOCKS + 1), min_size=pp - 1, max_size=pp - 1)))
    cut = tuple(stop - start for start, stop in zip([0, *borders], [*borders, BLOCKS + 2], strict=True))
    return plan(
        BLOCKS,
        full=tuple(draw(st.sets(st.integers(1, BLOCKS)))),
        tp=draw(st.sampled_from([1, 2, 4])),
        pp=pp,
        dp=draw(st.sampled_from(dps)),
        zero=draw(st.sampled_from([0, 1, 2, 3])),
        micro_batch=draw(st.sampled_from([1, 2])),
        schedule=draw(st.sampled_from(ONE_STAGE_A_RANK)),
        cut=cut,
    )


def predicted(of: Plan, work, software, **changes: Any) -> Prediction:
    tiers = changes.pop("tiers", ())
    outcome = predict(MODEL, work, cluster(of.num_ranks, *tiers, **changes), software, of)
    assert isinstance(outcome, Prediction), outcome
    return outcome


@QUICK
@given(plans(), WORKLOADS, SOFTWARE)
def test_terms_add_up_and_bounds_enclose(of, work, software):
    prediction = predicted(of, work, software)
    total_s = sum(term.time_s for term in prediction.terms)
    assert abs(total_s - prediction.step_time_s) <= 1e-9 * total_s
    assert len({term.name for term in prediction.terms}) == len(prediction.terms)
    assert 0 < prediction.step_time_low_s <= prediction.step_time_s <= prediction.step_time_high_s
    low_bytes, high_bytes = prediction.peak_memory_low_bytes, prediction.peak_memory_high_bytes
    assert low_bytes <= prediction.peak_memory_bytes <= high_bytes
    assert prediction.peak_memory_bytes == max(stage.peak_bytes for stage in prediction.stages)
    assert len(prediction.stages) == of.pp
    assert 0 < prediction.mfu_frac <= 1


@QUICK
@given(plans(), WORKLOADS, SOFTWARE)
def test_predict_is_pure(of, work, software):
    inputs = MODEL, work, cluster(of.num_ranks), software, of
    before = copy.deepcopy(inputs)
    first, second = predict(*inputs), predict(*copy.deepcopy(inputs))
    assert first.to_json().encode() == second.to_json().encode()
    assert inputs == before


@QUICK
@given(plans(), WORKLOADS, SOFTWARE)
def test_faster_links_memory_and_arithmetic_are_never_slower(of, work, software):
    base = predicted(of, work, software).step_time_s
    links = tier(4, 3e6, 1e-3), tier(1024, 3e5, 1e-2, Source.ASSUMED)
    assert predicted(of, work, software, tiers=links).step_time_s <= base * (1 + 1e-12)
    assert predicted(of, work, software, mem_bandwidth_bytes_per_s=1e7).step_time_s <= base * (1 + 1e-12)
    peaks = {Precision.BF16: 1e7, Precision.FP16: 1e7, Precision.FP32: 5e6}
    assert predicted(of, work, software, peak_flop_per_s=peaks).step_time_s <= base * (1 + 1e-12)


@QUICK
@given(plans(), WORKLOADS, SOFTWARE, st.lists(st.floats(0.2, 2.0), min_size=2, max_size=2))
def test_more_memory_is_never_a_worse_verdict(of, work, software, shares):
    order = [Verdict.DOES_NOT_FIT, Verdict.TIGHT, Verdict.FITS]
    peak_bytes = predicted(of, work, software).peak_memory_bytes
    verdicts = [predicted(of, work, software, memory_bytes=int(share * peak_bytes)).verdict for share in sorted(shares)]
    assert order.index(verdicts[0]) <= order.index(verdicts[1])


def activations_bytes(prediction: Prediction) -> list[int]:
    """By stage, at the start of a backward pass."""
    return [item.steady_bytes for stage in prediction.stages for item in stage.items if item.name == "activations"]


@QUICK
@given(plans(), WORKLOADS, SOFTWARE, st.integers(1, BLOCKS))
def test_recomputing_one_more_block_costs_time(of, work, software, layer):
    assume(layer not in full_layers(of))
    more = plan_with(of, (*full_layers(of), layer))
    before, after = predicted(of, work, software), predicted(more, work, software)
    assert after.step_time_s >= before.step_time_s * (1 - 1e-12)
    assert after.mfu_frac <= before.mfu_frac * (1 + 1e-12)


@QUICK
@given(plans(), WORKLOADS)
def test_recomputing_every_block_keeps_less_where_two_micro_batches_are_in_flight(of, work):
    # With one in flight the working set of the first recomputed block outweighs what it frees. What a block keeps here
    # is more than twice its input.
    software = stack()
    none, full = plan_with(of, ()), plan_with(of, tuple(range(1, BLOCKS + 1)))
    count = of.num_microbatches(work.global_batch)
    kept, less = activations_bytes(predicted(none, work, software)), activations_bytes(predicted(full, work, software))
    for stage, (before_bytes, after_bytes) in enumerate(zip(kept, less, strict=True)):
        in_flight = SCHEDULES[of.schedule].in_flight(stage, of.pp, count) if of.pp > 1 else 1
        if in_flight >= 2:
            assert after_bytes <= before_bytes


@QUICK
@given(plans(pps=(1,), dps=(4,)), WORKLOADS, SOFTWARE)
def test_a_higher_zero_stage_never_needs_more_memory_on_one_pipeline_stage(of, work, software):
    peaks = [predicted(of.model_copy(update={"zero": zero}), work, software).peak_memory_bytes for zero in range(4)]
    assert peaks == sorted(peaks, reverse=True)


@QUICK
@given(plans(pps=(1,)), WORKLOADS, SOFTWARE)
def test_one_stage_knows_no_schedule(of, work, software):
    gpipe, other = (
        predicted(of.model_copy(update={"schedule": schedule}), work, software) for schedule in ONE_STAGE_A_RANK
    )
    assert gpipe.model_copy(update={"plan_id": ""}) == other.model_copy(update={"plan_id": ""})


def full_layers(of: Plan) -> tuple[int, ...]:
    return tuple(index for index, mode in enumerate(of.recompute_layers) if mode == "full")


def plan_with(of: Plan, full: tuple[int, ...]) -> Plan:
    """The same plan with other layers recomputed."""
    return of.model_copy(update={"recompute_layers": plan(BLOCKS, full=full).recompute_layers})
