"""From what a layer does at two sequence lengths to what it does at any: a part per token and a part per pair.

A third length, far from both, tells whether that is so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from profiler.tracing.recorder import MAX_CALLS, TooManyCallsError

Recorded = TypeVar("Recorded")

SHORT, LONG = 256, 512
"""Sequence lengths at which layers are traced: whole chunks of the usual scans."""
FAR = (16384, 4096, 1024)
"""Lengths to compare with, the longest first: a loop over chunks takes too many calls at the longest ones."""
LOOPED = (16, 32, 64)
"""Lengths for what is written as a loop over tokens, and would take minutes at the others; the last to compare with."""
MAX_MISS = 0.01
"""Share of the work of a model by which what was traced may differ from what the two lengths tell."""


@dataclass(frozen=True)
class Passes(Generic[Recorded]):
    """What was recorded at each of `lengths`: two that tell the work at any length, and perhaps one to compare with."""

    lengths: tuple[int, ...]
    recorded: tuple[Recorded, ...]
    longest: int | None = None
    """The most tokens that were found to run, where a pass over more of them fails."""


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


def misfit(amounts: Sequence[Sequence[float]], lengths: Sequence[int]) -> tuple[int, float] | None:
    """The length at which what the first two of `lengths` tell is wrong by more than `MAX_MISS`, and by which share.

    `amounts` holds for each layer what was recorded at each length. The third one is compared with, or the first where
    there is none: the second is always as told. None where all is.
    """
    fits = [coefficients(layer[0], layer[1], lengths[0], lengths[1]) for layer in amounts]
    index = 2 if len(lengths) > 2 else 0
    length = lengths[index]
    told = [a * length + b * length**2 for a, b in fits]
    found = [layer[index] for layer in amounts]
    wrong = sum(abs(one - other) for one, other in zip(told, found, strict=True))
    if wrong <= MAX_MISS * sum(found):
        return None
    return length, wrong / sum(found) if sum(found) else float("inf")


def lengths_within(longest: int | None) -> tuple[int, int]:
    """The two lengths to trace at, for a model that takes at most `longest` tokens."""
    if longest is None or longest >= LONG:
        return SHORT, LONG
    return max(1, longest // 2), max(2, longest)


def passes_at_lengths(
    record: Callable[[int, int], tuple[Recorded, int]], longest: int | None, refusals: tuple[type[Exception], ...]
) -> Passes[Recorded]:
    """What `record` yields for a model that takes at most `longest` tokens, at `LOOPED` for a loop over tokens.

    `record` takes a length and the most calls into torch, and also says how many there were; it raises
    TooManyCallsError beyond, and one of `refusals` where the model does not run. A loop over tokens is what takes far
    more calls at usual lengths than at a few tokens.
    """
    few, num_calls = record(LOOPED[0], MAX_CALLS)
    near = lengths_within(longest)
    try:
        most = min(MAX_CALLS, 2 * num_calls + 100)
        passes = Passes(near, (record(near[0], most)[0], record(near[1], most)[0]))
    except TooManyCallsError:
        return Passes(LOOPED, (few, *(record(length, MAX_CALLS)[0] for length in LOOPED[1:])))
    return _with_far(passes, record, longest, refusals)


def _with_far(
    passes: Passes[Recorded],
    record: Callable[[int, int], tuple[Recorded, int]],
    longest: int | None,
    refusals: tuple[type[Exception], ...],
) -> Passes[Recorded]:
    """`passes` with one more, of whole chunks; with a longest length where the model does not run at a far one."""
    for far in FAR:
        length = far if longest is None else min(far, longest // LONG * LONG)
        if length <= LONG:
            break
        try:
            return Passes((*passes.lengths, length), (*passes.recorded, record(length, MAX_CALLS)[0]))
        except TooManyCallsError:
            continue
        except refusals:
            found = _longest_that_runs(record, LONG, length, refusals)
            within = _with_far(passes, record, found, refusals)
            return Passes(within.lengths, within.recorded, found)
    return passes


def _longest_that_runs(
    record: Callable[[int, int], tuple[Recorded, int]], runs: int, fails: int, refusals: tuple[type[Exception], ...]
) -> int:
    caught: tuple[type[Exception], ...] = (TooManyCallsError, *refusals)
    while fails - runs > 1:
        middle = (runs + fails) // 2
        try:
            record(middle, MAX_CALLS)
            runs = middle
        except caught:
            fails = middle
    return runs
