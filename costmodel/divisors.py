"""Divisors: what would do where one number must divide another."""

from __future__ import annotations

import math
from collections.abc import Iterable

MAX_NAMED = 8
"""Divisors that a sentence lists."""


def divisors(number: int, up_to: int | None = None) -> list[int]:
    """The divisors of `number`, those that are at most `up_to` if it is given, in rising order."""
    small = [value for value in range(1, math.isqrt(number) + 1) if number % value == 0]
    large = [number // value for value in reversed(small) if value * value != number]
    return [value for value in small + large if up_to is None or value <= up_to]


def listed(values: Iterable[object]) -> str:
    """Values in a sentence."""
    return ", ".join(str(value) for value in values)


def not_a_multiple(whole: str, size: int, part: str, given: int) -> str:
    """The sentence for `size`, which is called `whole`, where `given`, called `part`, does not divide it, with the
    nearest values that do."""
    nearest = sorted(divisors(size), key=lambda value: (abs(value - given), value))[:MAX_NAMED]
    return f"{whole} {size} is not a multiple of {part} {given}; {part} that divide it: {listed(sorted(nearest))}"
