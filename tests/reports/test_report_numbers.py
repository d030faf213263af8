"""What the page says: its numbers are those of the plan file, and its verdicts follow from them."""

from __future__ import annotations

import pytest
from report_parts import GIB, MIB
from report_samples import cluster_answer, local_answer, measurement

from costmodel import units
from costmodel.predict import timeline_of
from costmodel.schedules.timeline import TimedAction, Timeline
from costmodel.spec import PlanFile, Source, Verdict
from reports import sentences
from reports.section import Answer, Section, Tone
from reports.sections import measured, memory, pipeline, provenance, ranking, sensitivity, step_time, summary


def answer(plan_file: PlanFile) -> Answer:
    return Answer("a1", plan_file, None)


def with_prediction(plan_file: PlanFile, **changes: object) -> PlanFile:
    return plan_file.model_copy(update={"prediction": plan_file.prediction.model_copy(update=changes)})


def cells(section: Section | None, caption: str) -> dict[str, tuple[str, ...]]:
    """Rows of the table whose caption starts with `caption`, by their first cell."""
    assert section is not None
    table = next(table for table in section.tables if table.caption.startswith(caption))
    return {row[0]: row[1:] for row in table.rows}


def test_headline() -> None:
    assert sentences.headline(cluster_answer()) == (
        "64 GPUs as tensor 2 x pipeline 4 x data 8 with ZeRO-1, schedule 1F1B, micro-batch 1, "
        "16 micro-batches per step, recomputation of 5 of 32 blocks: 1.33 s per step (1.14 to 1.51 s), "
        "12,300 tokens/s/GPU, MFU 41.2 %, peak 32.3 GiB of 79.2 GiB: FITS."
    )


def test_batch_line_multiplies_out() -> None:
    # 128 = 1 x 16 x 8, and 128 x 8192 = 1,048,576
    assert sentences.batch_line(cluster_answer()) == (
        "Global batch 128 sequences = micro-batch 1 x 16 accumulated x data parallel 8; "
        "8,192 tokens a sequence, 1,048,576 tokens a step."
    )


def test_proof_names_gap_bound_counts_and_restrictions() -> None:
    text = sentences.proof(cluster_answer().certificate, Verdict.FITS)
    for part in (
        "within 2.41 % of the best plan that FITS",
        "less than 1.29 s",
        "tensor parallel at most 8",
        "the gap is 0 %",
        "1,344",
        "1,101",
        "31",
    ):
        assert part in text
    assert "rules refused 212" in text  # 96 + 116


def test_a_closed_gap_is_called_optimal_for_the_cost_model() -> None:
    certificate = cluster_answer().certificate
    assert certificate is not None
    for gap_frac in (0.0, 1e-8):
        closed = certificate.model_copy(update={"gap_frac": gap_frac})
        assert "Proven the best plan that FITS for" in sentences.proof(closed, Verdict.FITS)
        assert "Proven the best plan that FITS or is TIGHT for" in sentences.proof(closed, Verdict.TIGHT)


def test_summary_lists_every_assumption() -> None:
    notes = [
        paragraph.text
        for paragraph in summary.build(answer(cluster_answer())).paragraphs
        if paragraph.tone is Tone.NOTE
    ]
    assert notes == ["Assumed: The link between nodes is one 400 Gbit/s port a GPU; nobody measured it."]


def test_memory_table_has_each_item_and_adds_up() -> None:
    rows = cells(memory.build(answer(cluster_answer())), "Stage 0, the peak")
    assert rows["saved activations"] == ("14.2", "0", "0", "analytic")
    # steady 3.8 + 7.5 + 5.6 + 14.2 + 1.2; first step 3.8 + 7.5 + 5.7 + 1.2; checkpoint 3.8 + 7.5 + 5.6 + 1.2 + 3.8
    assert rows["Total"][:3] == ("32.3", "18.2", "21.9")


@pytest.mark.parametrize(
    ("verdict", "low", "high", "tone", "part"),
    [
        (Verdict.FITS, 60, 70, Tone.GOOD, "is within the limit of 79.2 GiB"),
        (Verdict.TIGHT, 75, 84.2, Tone.BAD, "straddles the limit of 79.2 GiB, by up to 5 GiB"),
        (Verdict.DOES_NOT_FIT, 85, 99.2, Tone.BAD, "is above the limit of 79.2 GiB, by up to 20 GiB"),
    ],
)
def test_memory_verdict_is_a_sentence(verdict: Verdict, low: float, high: float, tone: Tone, part: str) -> None:
    changed = with_prediction(
        cluster_answer(),
        verdict=verdict,
        peak_memory_low_bytes=round(low * GIB),
        peak_memory_high_bytes=round(high * GIB),
        memory_limit_bytes=round(79.2 * GIB),
    )
    assert memory.TONES[verdict] is tone
    assert part in memory.verdict_sentence(changed.prediction)


def test_many_kinds_and_stages_of_memory_are_drawn() -> None:
    file = cluster_answer()
    stage = file.prediction.stages[0]
    items = tuple(stage.items[0].model_copy(update={"name": f"kind {index}"}) for index in range(12))
    stages = tuple(stage.model_copy(update={"stage": index, "items": items}) for index in range(12))
    section = memory.build(answer(with_prediction(file, stages=stages)))
    assert len(section.tables[1].rows) == 12 * (12 + 1)  # stages x (kinds + total)
    assert section.drawings[0].wide.count("stage 11,") == 1  # one bar a stage, not three
    assert "stage 11, steady" in section.drawings[0].wide


def test_step_time_table_has_each_term_with_share_and_source() -> None:
    file = cluster_answer()
    rows = cells(step_time.build(answer(file)), "Terms")
    for term in file.prediction.terms:
        share = units.format_frac(term.time_s / file.prediction.step_time_s)
        assert rows[term.name] == (units.format_seconds(term.time_s), share, term.source.value, term.note)
    assert rows["attention"][:2] == ("118 ms", "8.9 %")  # 0.118 / 1.326
    assert rows["Step time"][:2] == ("1.33 s", "100 %")


def test_a_prediction_without_terms_says_so() -> None:
    section = step_time.build(answer(with_prediction(local_answer(), terms=())))
    assert "does not itemise" in section.paragraphs[0].text
    assert not section.drawings


def test_ranking_gives_times_ratios_and_reasons() -> None:
    section = ranking.build(answer(cluster_answer()))
    alternatives = cells(section, "Ranked alternatives")
    assert alternatives["1"][3] == "1.00 x"
    assert alternatives["2"][1] == "1.39 s"
    assert alternatives["2"][3] == "1.05 x"  # 1.391 / 1.326 = 1.049
    assert alternatives["3"][5] == "DOES NOT FIT"
    assert alternatives["3"][6].startswith("Does not fit and is 13 % slower")
    baselines = cells(section, "What a rule of thumb")
    assert baselines["Megatron rule"][3] == "1.31 x"  # 1.74 / 1.326 = 1.312
    assert baselines["ZeRO-3 alone"][5:] == (
        "NO PLAN",
        "global batch 128 is not a multiple of micro-batch 4 x dp 64; micro-batch 2 would do.",
    )
    refused = next(iter(cells(section, "Refused").values()))
    assert refused[0] == "memory"
    assert refused[2] == "30.8 GiB"


def test_sensitivities_stand_by_effect() -> None:
    section = sensitivity.build(answer(cluster_answer()))
    assert list(cells(section, "Step time").items()) == [
        ("GEMM efficiency", ("0.75 to 0.65", "1.44 s", "1.08 x")),  # 1.438 / 1.326 = 1.084
        ("bandwidth between nodes", ("halved", "1.37 s", "1.03 x")),  # 1.371 / 1.326 = 1.034
    ]


@pytest.mark.parametrize(("median_s", "tone", "place"), [(0.492, Tone.GOOD, "within"), (0.6, Tone.BAD, "outside")])
def test_the_measured_median_is_judged_against_the_interval(median_s: float, tone: Tone, place: str) -> None:
    file = local_answer()  # predicted 0.474 s, 0.379 to 0.569 s
    section = measured.build(Answer("a1", file, None, measurement(file, median_s)))
    assert section is not None
    verdict = section.paragraphs[0]
    assert verdict.tone is tone
    assert f"over 17 steps, lies {place} the predicted interval of 379 to 569 ms" in verdict.text


def test_measured_numbers_stand_beside_the_predicted_ones() -> None:
    file = local_answer()
    section = measured.build(Answer("a1", file, None, measurement(file)))
    rows = cells(section, "Predicted and measured")
    # 0.492 / 0.474 = 1.038; peak 146.2 / (14 + 14 + 14 + 96 + 3 = 141) = 1.0369
    assert rows["Step time"] == ("474 ms", "379 to 569 ms", "492 ms", "3.8 % more than predicted")
    assert rows["Peak memory"] == ("141 MiB", "134 to 152 MiB", "146 MiB", "3.69 % more than predicted")
    steps = cells(section, "Every step")
    assert steps["0"] == ("935 ms", "5.5400", "warm-up")  # 0.492 x 1.9
    assert steps["19"][1:] == ("4.1720", "yes")  # 5.54 - 0.11 x 19 + 0.002 x 361


def test_without_a_pipeline_the_section_says_so_and_draws_nothing() -> None:
    section = pipeline.build(answer(local_answer()))
    assert "There is no pipeline" in section.paragraphs[0].text
    assert section.drawings == section.tables == ()


def test_pipeline_busy_and_waiting_time_of_each_rank() -> None:
    file = cluster_answer()
    actions = (
        TimedAction(0, 0, "F", 0, 0.0, 1.0),
        TimedAction(0, 0, "B", 0, 3.0, 5.0),
        TimedAction(1, 1, "F", 0, 1.0, 3.0),
    )
    section = pipeline.build(Answer("a1", file, Timeline(2, actions, 5.0)))
    # rank 0 works 1 + 2 of 5 s, rank 1 works 2 of 5 s
    assert cells(section, "Busy") == {"0": ("3 s", "2 s", "40 %"), "1": ("2 s", "3 s", "60 %")}


def test_pipeline_of_the_cost_model_draws_every_pass() -> None:
    file = cluster_answer()
    timeline = timeline_of(file.model, file.workload, file.cluster, file.stack, file.plan, file.profile)
    section = pipeline.build(Answer("a1", file, timeline))
    colour = "fill: var(--backward"
    assert section.drawings[0].wide.count(colour) == 4 * 16 + 1  # ranks x micro-batches, and the legend
    assert len(section.paragraphs) == 1


def test_a_long_pipeline_is_an_excerpt_and_says_so() -> None:
    passes = [
        TimedAction(rank, rank, "FB"[index % 2], index // 2, float(rank + index), float(rank + index + 1))
        for rank in range(40)
        for index in range(200)
    ]
    section = pipeline.build(Answer("a1", cluster_answer(), Timeline(40, tuple(passes), 240.0)))
    note = section.paragraphs[1].text
    assert "together about 32 of 200 passes a rank" in note
    assert "the first and the last 16 of 40 ranks" in note
    assert len(section.tables[0].rows) == 40
    assert "rank 39" in section.drawings[0].wide
    assert "rank 20" not in section.drawings[0].wide


def test_provenance_has_every_hash_version_and_date() -> None:
    file = local_answer()
    section = provenance.build(Answer("a1", file, None, measurement(file)))
    shown = {cell for table in section.tables for row in table.rows for cell in row}
    profile = file.profile
    assert profile is not None
    for value in (*file.input_hashes.values(), *file.versions.values(), file.created, profile.provenance.date):
        assert value in shown
    assert file.plan.to_json() == section.listings[0].text


def test_provenance_says_when_there_is_no_profile() -> None:
    assert "No profile" in provenance.build(answer(cluster_answer())).paragraphs[0].text


def test_sample_is_consistent() -> None:
    prediction = cluster_answer().prediction
    assert sum(term.time_s for term in prediction.terms) == pytest.approx(prediction.step_time_s)
    assert prediction.source is Source.ANALYTIC
    assert prediction.peak_memory_bytes == prediction.stages[0].steady_bytes
    assert local_answer().prediction.peak_memory_bytes == 141 * MIB
