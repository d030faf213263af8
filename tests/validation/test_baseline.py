"""Constant efficiency, by hand and on all carried runs."""

from __future__ import annotations

import pytest

from benchmarks.published import RUNS
from planner.validation.measured import Measured
from planner.validation.scores.baseline import active_params, baseline_s
from planner.validation.scores.ranking import mean_rank, order, regret
from planner.validation.scores.scored import Predicted, Scored, by_source, errors_of, mean_over_sources
from planner.validation.scores.sources import NOT_SCORED, source_of
from planner.validation.table import read_runs
from tests.validation.sample_runs import configuration


def test_a_dense_model() -> None:
    """8 blocks of 2 x 1024 x 64 x (16 + 8) and 3 x 1024 x 4096, and a head of 32000 x 1024. 8 x 2048 tokens; attention
    6 x 8 x 2048 x 1024 FLOP a token; 0.41 of 8 x 989 TFLOP/s."""
    params = 8 * (2 * 1024 * 64 * 24 + 3 * 1024 * 4096) + 32000 * 1024
    assert active_params(configuration()) == params
    flop = (6 * params + 6 * 8 * 2048 * 1024) * 8 * 2048
    assert baseline_s(configuration()) == pytest.approx(flop / (0.41 * 8 * 989e12))
    assert baseline_s(configuration(precision="int7")) is None
    assert baseline_s(configuration(precision="fp8")) == pytest.approx(flop / (0.35 * 8 * 2 * 989e12))


def test_a_mixture() -> None:
    """Of 8 blocks 2 are dense; a token meets 2 of 16 experts of 512 columns and 256 shared ones."""
    cells = {"experts": "16", "top_k": "2", "moe_ffn_hidden": "512", "shared_expert_ffn": "256"}
    run = configuration(**cells, dense_first_layers="2")
    columns = 6 * (2 * 512 + 256) + 2 * 4096
    assert active_params(run) == 8 * 2 * 1024 * 64 * 24 + 3 * 1024 * columns + 32000 * 1024
    assert baseline_s(configuration(gpu="Z999")) is None


def test_its_scores_on_all_carried_runs() -> None:
    """22.4 / 41.9 % error, 11 % order and 19.2 % regret were published for such a model with these runs. Ours is a
    tenth of a point off in places: peaks of the newest GPUs are stated in several ways."""
    rows = []
    for index, run in enumerate(read_runs(RUNS).runs):
        assert isinstance(run.measured, Measured)
        if not run.measured.use_time:
            continue
        assert run.measured.step_time_s is not None
        time_s = baseline_s(run.configuration)
        assert time_s is not None
        predicted = Predicted(time_s, time_s, time_s)
        rows.append(Scored(index, run.id, source_of(run.id), run.configuration, run.measured.step_time_s, predicted))
    assert len(rows) == 2215
    mean = mean_over_sources({source: errors_of(found) for source, found in by_source(rows).items()}, NOT_SCORED)
    assert mean is not None
    assert mean.median_frac == pytest.approx(0.224, abs=0.002)
    assert mean.p90_frac == pytest.approx(0.419, abs=0.003)
    assert mean_rank(order(rows)) == pytest.approx(0.11, abs=0.005)
    assert mean_rank(regret(rows)) == pytest.approx(0.192, abs=0.001)
