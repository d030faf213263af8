"""Pairs of query and key that meet: causal, windowed, chunked, both ways; against counting them one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costmodel.spec.operations import DotProductAttention


def pairs(length: int, **mask: int | bool | None) -> float:
    return DotProductAttention(1, length, length, 1, 1, 1, 1, **mask).num_pairs  # type: ignore[arg-type]


def counted(length: int, *, causal: bool, window: int | None, chunked: bool) -> int:
    """Every pair looked at: queries see what is before them (if causal) and within the window or chunk."""

    def meets(query: int, key: int) -> bool:
        if causal and key > query:
            return False
        if window is None:
            return True
        if chunked:
            return query // window == key // window
        return query - key < window if causal else abs(query - key) <= window / 2

    return sum(meets(query, key) for query in range(length) for key in range(length))


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        ({"causal": False}, 64),  # 8 x 8
        ({"causal": True}, 32),  # half of it
        ({"causal": True, "window": 4}, 24),  # 8 x 4 less the corner of 4 x 4 / 2
        ({"causal": True, "window": 100}, 32),  # wider than the sequence
        ({"causal": True, "window": 4, "chunked": True}, 16),  # two chunks of 4 x 4 / 2
        ({"causal": False, "window": 4, "chunked": True}, 32),  # two chunks of 4 x 4
        ({"causal": True, "window": 5, "chunked": True}, 17),  # (5 x 5 + 3 x 3) / 2
        ({"causal": False, "window": 100, "chunked": True}, 64),  # a part of one chunk
        ({"causal": False, "window": 4}, 28),  # 8 x 4 less two corners of 2 x 2 / 2
        ({"causal": False, "window": 16}, 64),  # reaches every key
        ({"causal": False, "window": 100}, 64),
    ],
)
def test_pairs_by_hand(mask: dict[str, int | bool], expected: float) -> None:
    assert pairs(8, **mask) == expected


@given(length=st.integers(2, 60), causal=st.booleans(), window=st.none() | st.integers(1, 80), chunked=st.booleans())
def test_pairs_are_those_counted_but_for_the_diagonal(
    length: int, causal: bool, window: int | None, chunked: bool
) -> None:
    """A triangle counts as half of its square, so each query may be off by its own pair."""
    mask = {"causal": causal, "window": window, "chunked": chunked and window is not None}
    assert abs(pairs(length, **mask) - counted(length, **mask)) <= length  # type: ignore[arg-type]
