"""From what a layer does at two sequence lengths to what it does at any: a part per token and a part per pair."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from profiler.tracing.recorder import MAX_CALLS, TooManyCallsError

Recorded = TypeVar("Recorded")

SHORT, LONG = 256, 512
"""Sequence lengths at which layers are traced: whole chunks of the usual scans."""
LOOPED = (16, 32)
"""Lengths for what is written as a loop over tokens, and would take minutes at the others."""


def coefficients(short: float, long: float, short_len: int, long_len: int) -> tuple[float, float]:
    """`a` and `b` of `a x s + b x s^2`, which is `short` at `short_len` and `long` at `long_len`; both are >= 0.

    What grows more slowly than the sequence is taken to grow with it, at the rate of the longer one.
    """
    b = (long * short_len - short * long_len) / (short_len * long_len * (long_len - short_len))
    a = short / short_len - b * short_len
    if b <= 0:
        return long / long_len, 0.0
    if a < 0:
        return 0.0, long / long_len**2
    return a, b


def lengths_within(longest: int | None) -> tuple[int, int]:
    """The two lengths to trace at, for a model that takes at most `longest` tokens."""
    if longest is None or longest >= LONG:
        return SHORT, LONG
    return max(1, longest // 2), max(2, longest)


def passes_at_lengths(
    record: Callable[[int, int], tuple[Recorded, int]], lengths: tuple[int, int]
) -> tuple[tuple[int, int], tuple[Recorded, Recorded]]:
    """What `record` yields at two lengths, and which they are: `lengths`, or `LOOPED` for a loop over tokens.

    `record` takes a length and the most calls into torch, and also says how many there were; it raises
    TooManyCallsError beyond. A loop over tokens is what takes far more calls at `lengths` than at a few tokens.
    """
    few, num_calls = record(LOOPED[0], MAX_CALLS)
    try:
        most = min(MAX_CALLS, 2 * num_calls + 100)
        return lengths, (record(lengths[0], most)[0], record(lengths[1], most)[0])
    except TooManyCallsError:
        return LOOPED, (few, record(LOOPED[1], MAX_CALLS)[0])
