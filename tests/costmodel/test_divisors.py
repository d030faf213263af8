"""divisors(): all of them, in order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from costmodel.divisors import divisors, not_a_multiple


@given(st.integers(1, 5000), st.integers(1, 5000))
def test_divisors_are_those_that_divide(number: int, up_to: int) -> None:
    assert divisors(number) == [value for value in range(1, number + 1) if number % value == 0]
    assert divisors(number, up_to) == [value for value in divisors(number) if value <= up_to]


def test_what_would_divide_is_named() -> None:
    assert not_a_multiple("num_attention_heads", 32, "num_key_value_heads", 5) == (
        "num_attention_heads 32 is not a multiple of num_key_value_heads 5; num_key_value_heads that divide it: "
        "1, 2, 4, 8, 16, 32"
    )
    # Of the 12 divisors of 96 the 8 nearest to 7.
    assert not_a_multiple("a", 96, "b", 7).endswith("b that divide it: 1, 2, 3, 4, 6, 8, 12, 16")
