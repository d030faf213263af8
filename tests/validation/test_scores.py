"""Scores by hand."""

from __future__ import annotations

import pytest

from planner.validation.scores.ranking import POOLED, Rank, jobs, mean_rank, order, regret
from planner.validation.scores.scored import Predicted, Scored, by_source, errors_of, mean_over_sources, p90
from planner.validation.scores.sources import source_of
from planner.validation.scores.spread import half_width, weighted_quantile
from tests.validation.sample_runs import configuration


def row(measured: float, predicted: float | None, source: str = "s", width: float = 0.1, **cells: str) -> Scored:
    value = None if predicted is None else Predicted(predicted, predicted * (1 - width), predicted * (1 + width))
    return Scored(0, f"{source}-1", source, configuration(**cells), measured, value)


@pytest.mark.parametrize(
    ("run_id", "source"),
    [
        ("dgxc-24.11-GPT3-175B-bf16-256", "dgxc"),
        ("llmf-0001", "llmf"),
        ("vtrain-single-0003", "vtrain-single"),
        ("vtrain-multi-0001", "vtrain-multi"),
        ("bs-tr11-0133", "bs-tr11"),
        ("alpa-weak-0001", "alpa-weak"),
        ("ci-golden-h100-gpt", "ci-golden"),
        ("golden-h100-gpt", "golden"),
        ("seqsel-t5-22B-full", "seqsel"),
        ("newcomer-0001", "newcomer"),
    ],
)
def test_sources_go_by_the_beginning_of_the_id(run_id: str, source: str) -> None:
    assert source_of(run_id) == source


def test_errors_of_a_source() -> None:
    """Errors +10 %, -20 %, +5 % and one run unanswered, which counts as 100 %: median of 5, 10, 20, 100 is 15 %; the
    third of four sorted ones stands at floor(0.9 x 3) = 2; of the signed ones the median is +5 %. The intervals are
    +-10 %: 1.1 holds 1.0 (from 0.99), 0.8 does not (to 0.88), 1.05 does."""
    found = errors_of([row(1.0, 1.1), row(1.0, 0.8), row(1.0, 1.05), row(1.0, None)])
    assert (found.num_rows, found.num_answered) == (4, 3)
    assert found.median_frac == pytest.approx(0.15)
    assert found.p90_frac == pytest.approx(0.20)
    assert found.bias_frac == pytest.approx(0.05)
    assert found.coverage_frac == pytest.approx(2 / 3)
    assert found.half_width_frac == pytest.approx(0.1)


def test_the_ninetieth_percentile() -> None:
    assert p90([float(value) for value in range(11)]) == 9.0  # place 9 of 0 to 10
    assert p90([3.0]) == 3.0


def test_sources_weigh_the_same_and_small_ones_nothing() -> None:
    """Twenty runs off by 10 % and five off by 50 % mean 30 %; four runs, and a source left out, do not count."""
    groups = {
        "large": [row(1.0, 1.1)] * 20,
        "small": [row(1.0, 1.5)] * 5,
        "few": [row(1.0, 9.0)] * 4,
        "golden": [row(1.0, 9.0)] * 9,
    }
    errors = {source: errors_of(rows) for source, rows in groups.items()}
    mean = mean_over_sources(errors, ("golden",))
    assert mean is not None
    assert mean.median_frac == pytest.approx(0.3)
    assert mean.num_rows == 25
    assert mean_over_sources({"few": errors["few"]}) is None


LAYOUTS = [("1", 10.0, 11.0), ("2", 8.0, 9.0), ("4", 8.2, 7.0), ("8", 6.0, 8.0)]
"""Micro-batch, measured, predicted."""


def job(source: str, layouts: list[tuple[str, float, float | None]], **cells: str) -> list[Scored]:
    return [
        row(measured, predicted, source, micro_batch=micro_batch, **cells)
        for micro_batch, measured, predicted in layouts
    ]


def test_order_of_pairs_measured_apart() -> None:
    """Of six pairs 8.0 and 8.2 lie 2.5 % apart and do not count. 10 is predicted slowest: three right. 8.0 against
    6.0: 9 > 8, right. 8.2 against 6.0: 7 < 8, wrong. 4 of 5."""
    assert order(job("s", LAYOUTS)) == {POOLED: Rank(5, pytest.approx(0.8))}


def test_regret_of_the_layout_predicted_fastest() -> None:
    """7.0 is predicted fastest and takes 8.2 where 6.0 was possible: 36.7 %."""
    assert regret(job("s", LAYOUTS)) == {POOLED: Rank(1, pytest.approx(8.2 / 6.0 - 1))}
    assert regret(job("s", LAYOUTS[:2])) == {}  # two layouts are no job


def test_ties_are_no_order_and_their_regret_is_averaged() -> None:
    """All tie: (10 + 8 + 8.2 + 6) / 4 = 8.05 over 6."""
    tied = job("s", [(micro_batch, measured, 5.0) for micro_batch, measured, _ in LAYOUTS])
    assert order(tied)[POOLED].mean == 0
    assert regret(tied)[POOLED].mean == pytest.approx(8.05 / 6.0 - 1)


def test_an_unanswered_layout_is_never_chosen_and_in_no_order() -> None:
    """Without 7.0 the fastest prediction is 8.0, which is right; the pairs of 8.2 with 10 and 6 are wrong: 3 of 5."""
    rows = job("s", [("1", 10.0, 11.0), ("2", 8.0, 9.0), ("4", 8.2, None), ("8", 6.0, 8.0)])
    assert regret(rows)[POOLED].mean == 0
    assert order(rows)[POOLED].mean == pytest.approx(0.6)


def test_repeated_layouts_fold_to_their_median() -> None:
    rows = job("s", [("1", 10.0, 4.0), ("1", 12.0, 4.0), ("1", 30.0, 4.0), ("2", 5.0, 3.0)])
    ((layouts,),) = jobs(rows).values()
    assert [layout.measured for layout in layouts] == [12.0, 5.0]


def test_jobs_differ_in_batch_machine_release_and_width_of_numbers() -> None:
    rows = [
        *job("s", LAYOUTS[:1]),
        *job("s", LAYOUTS[:1], global_batch="16"),
        *job("s", LAYOUTS[:1], gpu="A100"),
        *job("s", LAYOUTS[:1], release="26.04"),
        *job("s", LAYOUTS[:1], precision="mxfp8"),
    ]
    assert len(jobs(rows)["s"]) == 5
    assert len(jobs(job("s", LAYOUTS[:1], precision="mxfp8") + job("s", LAYOUTS[1:2], precision="nvfp4"))["s"]) == 1
    assert jobs(job("golden", LAYOUTS)) == {}


def test_large_sources_stand_alone_and_the_others_are_pooled() -> None:
    """Five layouts in their order are ten pairs; two sources of three pairs, one all wrong, make half."""
    five = [(str(2**index), 10.0 + 2 * index, 1.0 + index) for index in range(5)]
    three = five[:3]
    wrong = [(micro_batch, measured, -predicted + 9) for micro_batch, measured, predicted in three]
    found = order(job("large", five) + job("a", three) + job("b", wrong))
    assert found == {"large": Rank(10, 1.0), POOLED: Rank(6, 0.5)}
    assert mean_rank(found) == 0.75
    assert mean_rank({}) is None


def test_quantiles_weigh_sources_not_rows() -> None:
    """A hundred good rows do not hide ten bad ones: half of the weight is off by 0.5."""
    assert half_width({"good": [0.1] * 100, "bad": [0.5] * 10}, 0.8) == 0.5
    assert half_width({}, 0.8) is None
    assert weighted_quantile([(1.0, 1.0), (2.0, 1.0), (3.0, 2.0)], 0.5) == 2.0


def test_rows_of_a_source_stay_together() -> None:
    rows = [row(1.0, 1.0, "a"), row(1.0, 1.0, "b"), row(2.0, 1.0, "a")]
    assert [len(found) for found in by_source(rows).values()] == [2, 1]
