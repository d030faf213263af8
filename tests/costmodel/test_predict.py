"""predict() pinned by hand on one stage, on two stages under both schedules, and with ZeRO and recompute.

Passes of the sample, one sequence, in milliseconds (gemm + attention + elementwise, see test_compute_terms):
embedding 0.128 forward, 0.192 backward; block 4.608 + 0.512 + 1.408 = 6.528 and 9.216 + 1.6 + 2.304 = 13.12; head
0.64 + 0.656 = 1.296 and 1.28 + 0.704 = 1.984. Optimizer: 39 bytes a parameter at 1e6 per second, 23.088 a block,
3.12 the embedding, 3.432 the head.
"""

from __future__ import annotations

import pytest
from costmodel_samples import BLOCK, cluster, layer_sample, mesh, model, plan, profile, setting, stack, view, workload

from costmodel.layer_price import price_layer, price_layers
from costmodel.predict import WAIT_TERM, predict, stage_memories, timeline_of
from costmodel.spec import Schedule, Source, Spread, Verdict
from costmodel.terms import attention, elementwise, gemm, zero_traffic
from costmodel.uncertainty import TIME_FRAC, WIDEST_FRAC, memory_bounds_bytes, note, time_frac

ms = 1e-3
FORWARD, BACKWARD = 0.128 + 2 * 6.528 + 1.296, 0.192 + 2 * 13.12 + 1.984
OPTIMIZER = 3.12 + 2 * 23.088 + 3.432


def terms_of(prediction) -> dict[str, float]:
    """Milliseconds by term."""
    return {term.name: term.time_s / ms for term in prediction.terms}


def test_one_stage():
    # 3 micro-batches of 14.48 + 28.416 ms, then the optimizer's 52.728 ms and 5 ms of overhead: 186.416 ms.
    job = model(), workload(global_batch=3), cluster(1), stack(step_overhead_s=5 * ms)
    prediction = predict(*job, plan())
    assert pytest.approx((14.48, 28.416, 52.728)) == (FORWARD, BACKWARD, OPTIMIZER)
    assert prediction.step_time_s == pytest.approx(186.416 * ms)
    assert terms_of(prediction) == pytest.approx(
        {
            gemm.TERM: 3 * (2 * (4.608 + 9.216) + 0.64 + 1.28),
            attention.TERM: 3 * 2 * (0.512 + 1.6),
            elementwise.TERM: 3 * (0.128 + 0.192 + 2 * (1.408 + 2.304) + 0.656 + 0.704),
            "optimizer": 52.728,
            "step overhead": 5,
        }
    )
    # 12 tokens. 3 x 10,368 FLOP a sequence of a peak of 2e6 per second.
    assert prediction.tokens_per_s_per_gpu == pytest.approx(12 / 0.186416)
    assert prediction.mfu_frac == pytest.approx(3 * 3 * 10368 / (0.186416 * 2e6))
    assert prediction.bubble_frac == 0
    assert prediction.peak_stage == 0


def test_recompute_runs_the_forward_pass_again():
    # One of two blocks: 6.528 ms more for each of 3 micro-batches.
    job = model(), workload(global_batch=3), cluster(1), stack()
    once, again = predict(*job, plan()), predict(*job, plan(full=(1,)))
    assert again.step_time_s - once.step_time_s == pytest.approx(3 * 6.528 * ms)
    assert terms_of(again)["recompute"] == pytest.approx(3 * 6.528)
    assert again.mfu_frac < once.mfu_frac


def test_a_repetition_that_stops_early_leaves_out_the_last_multiplication():
    # 4 tokens x 16 x 8: 1,024 FLOP at 1e6 per second. 6.528 - 1.024 = 5.504 ms.
    job = model(), workload(), cluster(1), stack(recompute_stops_early=True)
    assert terms_of(predict(*job, plan(full=(1,))))["recompute"] == pytest.approx(5.504)


def test_what_is_repeated_of_a_timed_block_is_an_estimate():
    # Timed 3 s forward, of which the share 5.504 / 6.528 is repeated.
    here = setting(stack=stack(recompute_stops_early=True), profile=profile(layer_sample(BLOCK, 3.0, 7.0, 100)))
    (passes,) = price_layer(view(BLOCK, here)).passes
    assert passes.recompute_s == pytest.approx(3.0 * 5.504 / 6.528)
    assert (passes.source, passes.recompute_source) == (Source.MEASURED, Source.FITTED)


def test_zero_2_on_two_ranks():
    # Each rank runs 2 micro-batches. Over 2 ranks a round costs 1 ms and half of the bytes at 1e6 per second. After
    # each backward pass gradients of four bytes: embedding 1.16, block 2.184 twice, head 1.176; before the step weights
    # of two bytes: 1.08, 1.592 twice, 1.088; the optimizer has half of the parameters.
    job = model(), workload(global_batch=4), cluster(2), stack()
    prediction = predict(*job, plan(dp=2, zero=2))
    reduce, gather = 1.16 + 2 * 2.184 + 1.176, 1.08 + 2 * 1.592 + 1.088
    assert terms_of(prediction)[zero_traffic.TERM] == pytest.approx(2 * reduce + gather)
    assert prediction.step_time_s == pytest.approx((2 * (14.48 + 28.416 + reduce) + gather + 52.728 / 2) * ms)


STAGE = [(0.128 + 6.528, 0.192 + 13.12), (6.528 + 1.296, 13.12 + 1.984)]
"""Forward and backward of embedding and block, and of block and head: 6.656 and 13.312, 7.824 and 15.104."""
HOP = 1.064
"""64 bytes inside the node."""


@pytest.mark.parametrize(
    ("schedule", "end"),
    [
        # Stage 1 takes longer, so after F0 and a hop it never waits: F0 F1 B0 B1. Then a hop and stage 0's B1.
        (Schedule.GPIPE, 6.656 + 1.064 + 2 * 7.824 + 2 * 15.104 + 1.064 + 13.312),
        # Stage 1: F0 B0 F1 B1, with F1 sent long before; stage 0 has B0 behind it when B1 arrives.
        (Schedule.ONE_F_ONE_B, 6.656 + 1.064 + 2 * (7.824 + 15.104) + 1.064 + 13.312),
    ],
)
def test_two_stages(schedule, end):
    # Stage 0 ends last, then steps its optimizer: 3.12 + 23.088 = 26.208 ms. Stage 1 ends 14.376 ms earlier and steps
    # for 26.52 ms.
    job = model(), workload(global_batch=2), cluster(2), stack()
    chosen = plan(pp=2, cut=(2, 2), schedule=schedule)
    prediction = predict(*job, chosen)
    assert timeline_of(*job, chosen).end_s == pytest.approx(end * ms)
    assert prediction.step_time_s == pytest.approx((end + 26.208) * ms)
    # Stage 0 works 2 x (6.656 + 13.312) = 39.936 ms on its passes and waits for the rest.
    assert terms_of(prediction)[WAIT_TERM] == pytest.approx(end - 39.936)
    assert prediction.bubble_frac == pytest.approx((end - 39.936) / (end + 26.208))


def test_gpipe_and_1f1b_of_two_stages_differ_in_memory():
    # Stage 0 keeps 2 micro-batches under both; stage 1 one under 1F1B, two under GPipe.
    job = model(), workload(global_batch=2), cluster(2), stack()
    kept = {
        schedule: [
            item.steady_bytes
            for stage in predict(*job, plan(pp=2, cut=(2, 2), schedule=schedule)).stages
            for item in stage.items
            if item.name == "activations"
        ]
        for schedule in (Schedule.GPIPE, Schedule.ONE_F_ONE_B)
    }
    assert kept[Schedule.ONE_F_ONE_B] == [2 * (32 + 960), 960 + 288]
    assert kept[Schedule.GPIPE] == [2 * (32 + 960), 2 * (960 + 288)]


def test_gathering_before_the_step_delays_the_start_of_a_stage():
    # ZeRO-1 on 2 x 2 ranks, one micro-batch: stage 0 starts after gathering 1.08 + 1.592; stage 1 has gathered by then.
    job = model(), workload(global_batch=2), cluster(4), stack()
    timeline = timeline_of(*job, plan(pp=2, dp=2, zero=1, cut=(2, 2)))
    assert timeline.actions[0].start_s == pytest.approx((1.08 + 1.592) * ms)


def test_memory_is_that_of_the_stages_and_the_worst_is_named():
    job = model(), workload(global_batch=2), cluster(2), stack()
    chosen = plan(pp=2, cut=(3, 1))
    prediction = predict(*job, chosen)
    here = setting(workload=workload(global_batch=2), cluster=cluster(2))
    on = mesh(pp=2, num_microbatches=2, schedule=chosen.schedule)
    assert prediction.stages == stage_memories(here, on, chosen, price_layers(here, on))
    assert prediction.peak_stage == 0
    assert prediction.peak_memory_bytes == prediction.stages[0].peak_bytes > prediction.stages[1].peak_bytes


@pytest.mark.parametrize(
    ("limit", "expected"), [("high", Verdict.FITS), ("peak", Verdict.TIGHT), ("low", Verdict.TIGHT)]
)
def test_verdict_by_the_bounds_of_the_peak(limit, expected):
    job = model(), workload(), stack()
    peak_bytes = predict(job[0], job[1], cluster(1), job[2], plan()).peak_memory_bytes
    low_bytes, high_bytes = memory_bounds_bytes(peak_bytes)
    limit_bytes = {"high": high_bytes, "peak": peak_bytes, "low": low_bytes}[limit]

    def verdict(memory_bytes: int) -> Verdict:
        return predict(job[0], job[1], cluster(1, memory_bytes=memory_bytes), job[2], plan()).verdict

    assert verdict(limit_bytes) is expected
    assert verdict(high_bytes - 1) is Verdict.TIGHT
    assert verdict(low_bytes - 1) is Verdict.DOES_NOT_FIT


def test_what_the_context_takes_is_not_there_to_allocate():
    job = model(), workload()
    machine = cluster(1, memory_bytes=1000, memory_reserved_bytes=300)
    assert predict(*job, machine, stack(), plan()).memory_limit_bytes == 700


def test_half_widths_mix_by_share():
    # A quarter measured, three quarters assumed.
    half_frac = time_frac([(1.0, Source.MEASURED), (3.0, Source.ASSUMED)])
    assert half_frac == pytest.approx((TIME_FRAC[Source.MEASURED] + 3 * TIME_FRAC[Source.ASSUMED]) / 4)
    assert TIME_FRAC[Source.MEASURED] <= TIME_FRAC[Source.FITTED] <= TIME_FRAC[Source.ANALYTIC]
    assert TIME_FRAC[Source.ANALYTIC] < TIME_FRAC[Source.ASSUMED]


def test_bounds_follow_from_the_sources_of_the_terms():
    prediction = predict(model(), workload(global_batch=3), cluster(1), stack(step_overhead_s=5 * ms), plan())
    half_frac = time_frac((term.time_s, term.source) for term in prediction.terms)
    assert prediction.step_time_low_s == pytest.approx(prediction.step_time_s * (1 - half_frac))
    assert prediction.step_time_high_s == pytest.approx(prediction.step_time_s * (1 + half_frac))
    # 5 of 186 ms are assumed: more than 1 %, so no better word may stand for the whole.
    assert prediction.source is Source.ASSUMED
    assert predict(model(), workload(global_batch=3), cluster(1), stack(), plan()).source is Source.ANALYTIC


@pytest.mark.parametrize(("low_s", "high_s", "half_frac"), [(0.9, 1.1, None), (0.8, 1.6, 0.4), (0.5, 9.0, WIDEST_FRAC)])
def test_an_unsteady_machine_widens_what_was_measured_on_it(low_s, high_s, half_frac):
    # Half of the way from the 10th to the 90th percentile: (1.6 - 0.8) / 2 = 0.4, where that is more than usual.
    passes = Spread(median_s=1.0, low_s=low_s, high_s=high_s, num_samples=9)
    sample = layer_sample(BLOCK, 1.0, 1.0, 0).model_copy(update={"forward": passes, "backward": passes})
    timed = profile(sample)
    for source in (Source.MEASURED, Source.FITTED):
        assert time_frac([(2.0, source)], timed) == pytest.approx(half_frac or TIME_FRAC[source])
    assert time_frac([(2.0, Source.ANALYTIC)], timed) == TIME_FRAC[Source.ANALYTIC]
    assert ("lie apart" in note({Source.MEASURED}, timed)) == (half_frac is not None)


def test_the_interval_names_the_sources_that_there_are():
    assert note({Source.ANALYTIC}, None) == (
        "Each share of the time may be off by 24% where computed from published figures, and memory by 12%; the widths "
        "hold 80% of the runs they were taken from."
    )
    assert "by 24% where measured, 50% where assumed, and" in note({Source.ASSUMED, Source.MEASURED}, None)
