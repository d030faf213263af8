"""Interleaved rounds and their statistics."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiler.rounds import (
    MAX_WARM_UP_ROUNDS,
    RoundPolicy,
    relative_error_of_medians,
    run_rounds,
    spread_of_meetings,
    spread_of_ranks,
)


class Rounds:
    """Rounds whose times are given, on a clock that they move; the last one repeats."""

    def __init__(self, *rounds: Sequence[float]) -> None:
        self.rounds, self.visits, self.now = rounds, 0, 0.0

    def visit(self) -> Sequence[float]:
        times = self.rounds[min(self.visits, len(self.rounds) - 1)]
        self.visits += 1
        self.now += sum(times)
        return times

    def run(self, policy: RoundPolicy, **options: Callable[[float], float]) -> np.ndarray:
        return run_rounds(self.visit, policy, clock=lambda: self.now, **options)


def test_the_rounds_before_the_times_settle_are_left_out() -> None:
    # 9 -> 4 and 4 -> 2 fall by more than a tenth; 2 -> 2 does not, so the first 2 is warm-up and the second counts.
    times = Rounds([9.0], [4.0], [2.0]).run(RoundPolicy(budget_s=1000))
    assert times.tolist() == [[2.0]] * 5


def test_times_that_keep_falling_do_not_warm_up_for_ever() -> None:
    rounds = Rounds(*([2.0**-power] for power in range(40)))
    rounds.run(RoundPolicy(budget_s=1e-9))
    assert rounds.visits == MAX_WARM_UP_ROUNDS + 5


def test_equal_times_stop_after_the_least_number_of_rounds() -> None:
    assert len(Rounds([1.0, 3.0]).run(RoundPolicy(budget_s=1000, min_rounds=7))) == 7


def test_noisy_times_are_repeated_until_the_budget_is_spent() -> None:
    rounds = Rounds(*([1.0 + index % 2] for index in range(1000)))
    times = rounds.run(RoundPolicy(budget_s=30))
    # The rounds take 1.5 s on average, so 20 of them fill 30 s; the first is warm-up.
    assert len(times) == 19
    assert rounds.now == pytest.approx(30)


def test_a_budget_that_is_too_small_still_gets_five_rounds() -> None:
    assert len(Rounds(*([1.0 + index % 2] for index in range(100))).run(RoundPolicy(budget_s=0.001))) == 5


def test_the_slowest_rank_decides_when_to_stop() -> None:
    # This rank's clock says 0 s, but another rank's says that the budget is spent.
    rounds = Rounds(*([1.0 + index % 2] for index in range(1000)))
    times = run_rounds(rounds.visit, RoundPolicy(budget_s=10), agree=lambda value: max(value, 99.0), clock=lambda: 0.0)
    assert len(times) == 5


def test_progress_grows_to_one() -> None:
    heard: list[float] = []
    Rounds(*([1.0 + index % 2] for index in range(100))).run(RoundPolicy(budget_s=30), on_progress=heard.append)
    assert heard == sorted(heard)
    assert heard[-1] == 1.0
    assert 0 < heard[0] < 0.5


def test_relative_error_of_medians() -> None:
    # One item with 0, 1, ..., 10: median 5, percentiles 1 and 9, so sigma = 8 / 2.563 = 3.121; the standard error of
    # the median of 11 values is 1.2533 * 3.121 / sqrt(11) = 1.1795. A second item that is always 5 adds to the sum of
    # the medians only: 1.1795 / 10 = 0.11795.
    times = np.array([[float(value), 5.0] for value in range(11)])
    assert relative_error_of_medians(times) == pytest.approx(0.11795, rel=1e-3)


def test_ranks_that_work_apart_take_the_largest_median() -> None:
    # Medians 2 and 3; all six values sorted are 1 2 2 3 3 30: the 10th percentile lies at position 0.5, between 1 and
    # 2, the 90th at position 4.5, between 3 and 30.
    spread = spread_of_ranks([np.array([1.0, 2.0, 30.0]), np.array([3.0, 3.0, 2.0])])
    assert spread.median_s == 3.0
    assert spread.low_s == pytest.approx(1.5)
    assert spread.high_s == pytest.approx(16.5)
    assert spread.num_samples == 3


def test_ranks_that_meet_take_the_slowest_of_each_round() -> None:
    # Slowest per round: 5, 4, 6. The median of the medians would be 3.
    spread = spread_of_meetings([np.array([5.0, 1.0, 2.0]), np.array([3.0, 4.0, 6.0])])
    assert spread.median_s == 5.0
    assert spread.low_s == pytest.approx(4.2)
    assert spread.high_s == pytest.approx(5.8)


@given(
    st.integers(1, 12).flatmap(
        lambda rounds: st.lists(st.lists(st.floats(1e-6, 10), min_size=rounds, max_size=rounds), min_size=1, max_size=4)
    )
)
def test_meeting_never_takes_less_than_working_apart(times: list[list[float]]) -> None:
    by_rank = [np.array(of_rank) for of_rank in times]
    apart, together = spread_of_ranks(by_rank), spread_of_meetings(by_rank)
    assert apart.low_s <= apart.median_s <= apart.high_s
    assert together.median_s >= apart.median_s
