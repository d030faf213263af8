"""Interleaved timing: what is compared is measured in turns, so that a slow moment of the machine hits all alike.

A round visits every item once. Rounds are repeated until the medians are tight or the time is spent. On a shared
machine this predicts a training step within a few per cent, where timing one item after the other is off by 10 % to
25 %. Medians, not minima: a short probe finds an idle moment that a whole step does not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from costmodel.spec import Spread

Times = npt.NDArray[np.float64]

WARM_FRAC = 0.9
"""A round is warm once it takes at least this share of the time of the round before."""
MAX_WARM_UP_ROUNDS = 5
NORMAL_P10_P90_SIGMAS = 2.563
"""Distance from the 10th to the 90th percentile of a normal distribution, in standard deviations."""
MEDIAN_EFFICIENCY = 1.2533
"""Standard error of a median over that of a mean, for a normal distribution: sqrt(pi / 2)."""


@dataclass(frozen=True)
class RoundPolicy:
    """When to stop."""

    budget_s: float
    """Time for warm-up and rounds together."""
    min_rounds: int = 5
    """Rounds that are kept even where they exceed the budget."""
    max_rounds: int = 200
    tight_frac: float = 0.01
    """Stop early once the standard error of the medians, weighted by time, is below this share."""


def run_rounds(
    visit: Callable[[], Sequence[float]],
    policy: RoundPolicy,
    *,
    agree: Callable[[float], float] = lambda value: value,
    on_progress: Callable[[float], None] = lambda _: None,
    clock: Callable[[], float] = time.perf_counter,
) -> Times:
    """Repeat `visit`, which measures every item once; returns seconds of shape (rounds, items), warm-up left out.

    `agree` turns a number of this rank into the largest over all ranks, so that all stop after the same round.
    `on_progress` hears the share of the work that is done, in [0, 1].
    """
    start = clock()
    rounds = [_first_warm_round(visit, agree)]
    while True:
        elapsed_frac = agree(clock() - start) / policy.budget_s
        on_progress(min(1.0, elapsed_frac, len(rounds) / policy.min_rounds))
        # Every rank takes part in both exchanges, or the ranks would wait for each other.
        error_frac = agree(relative_error_of_medians(np.array(rounds)))
        done = elapsed_frac >= 1 or len(rounds) >= policy.max_rounds or error_frac <= policy.tight_frac
        if done and len(rounds) >= policy.min_rounds:
            return np.array(rounds)
        rounds.append(visit())


def _first_warm_round(visit: Callable[[], Sequence[float]], agree: Callable[[float], float]) -> Sequence[float]:
    """The first round that is not much faster than the one before; the very first round never counts."""
    before = agree(sum(visit()))
    for _ in range(MAX_WARM_UP_ROUNDS - 1):
        times = visit()
        total = agree(sum(times))
        if total >= WARM_FRAC * before:
            return times
        before = total
    return visit()


def relative_error_of_medians(times: Times) -> float:
    """Standard error of the medians of `times` (rounds, items) over the medians, both summed over the items.

    The sum weighs each item by its time: a noisy item that takes no time does not matter. The standard deviation is
    taken from the 10th and 90th percentile, which outliers do not move.
    """
    low, median, high = np.percentile(times, (10, 50, 90), axis=0)
    sigma = (high - low) / NORMAL_P10_P90_SIGMAS
    error = MEDIAN_EFFICIENCY * sigma / np.sqrt(len(times))
    return float(error.sum() / median.sum())


def spread_of_ranks(times_by_rank: Sequence[Times]) -> Spread:
    """What an item takes where every rank does it for itself: `times_by_rank` holds one array (rounds,) per rank.

    A step ends with its slowest rank, but a rank's hiccup in one layer is made good or evened out over the many
    layers before the ranks meet. So the median is taken first, over the rounds of each rank, and then the largest
    over the ranks. Low and high are the 10th and 90th percentile over all rounds of all ranks.
    """
    median = max(float(np.median(times)) for times in times_by_rank)
    return _spread(median, np.concatenate(list(times_by_rank)), len(times_by_rank[0]))


def spread_of_meetings(times_by_rank: Sequence[Times]) -> Spread:
    """What an item takes where all ranks do it together: it ends in each round when the last rank is done."""
    slowest = np.max(np.stack(list(times_by_rank)), axis=0)
    return _spread(float(np.median(slowest)), slowest, len(slowest))


def _spread(median: float, times: Times, num_samples: int) -> Spread:
    low, high = np.percentile(times, (10, 90))
    return Spread(
        median_s=median, low_s=min(float(low), median), high_s=max(float(high), median), num_samples=num_samples
    )
