"""divisors(): all of them, in order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from costmodel.divisibility import divisors


@given(st.integers(1, 5000), st.integers(1, 5000))
def test_divisors_are_those_that_divide(number: int, up_to: int) -> None:
    assert divisors(number) == [value for value in range(1, number + 1) if number % value == 0]
    assert divisors(number, up_to) == [value for value in divisors(number) if value <= up_to]
