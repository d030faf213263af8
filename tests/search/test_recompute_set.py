"""The cheapest set of layers to recompute, against every set there is."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from planner.search.deadline import Deadline
from planner.search.recompute_set import RecomputedKind, cheapest_set


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[RecomputedKind], int, int]:
    """A few kinds of a few layers each, a number of bytes too many, and the room for a working set."""
    kinds, number = [], 1
    for _ in range(draw(st.integers(1, 4))):
        count = draw(st.integers(1, 3))
        working = draw(st.integers(1, 40))
        kinds.append(
            RecomputedKind(
                layers=tuple(range(number, number + count)),
                time_s=draw(st.sampled_from([1.0, 2.0, 2.5, 7.0])),
                freed_bytes=working - draw(st.integers(0, 45)),
                working_bytes=working,
            )
        )
        number += count
    return kinds, draw(st.integers(1, 120)), draw(st.integers(0, 60))


@given(problem=problems())
def test_no_set_that_fits_takes_less_time(problem: tuple[list[RecomputedKind], int, int]) -> None:
    kinds, excess_bytes, room_bytes = problem

    def needed(working_bytes: int) -> int | None:
        return excess_bytes + working_bytes if working_bytes <= room_bytes else None

    def time_of(counts: tuple[int, ...]) -> float | None:
        chosen = [(kind, count) for kind, count in zip(kinds, counts, strict=True) if count]
        wanted = needed(max((kind.working_bytes for kind, _ in chosen), default=0))
        if wanted is None or sum(count * kind.freed_bytes for kind, count in chosen) < wanted:
            return None
        return sum(count * kind.time_s for kind, count in chosen)

    every = itertools.product(*(range(len(kind.layers) + 1) for kind in kinds))
    times = [time_s for counts in every if (time_s := time_of(counts)) is not None]
    found = cheapest_set(kinds, needed, Deadline())
    if found is None:
        assert times == []
    else:
        by_kind = tuple(sum(layer in kind.layers for layer in found) for kind in kinds)
        assert len(set(found)) == len(found)
        assert time_of(by_kind) == min(times)


def test_many_kinds_that_are_nearly_alike_do_not_take_for_ever() -> None:
    # 40 layers, each 1,000 bytes and a few more, each a second and a little more: half of them must go.
    kinds = [
        RecomputedKind((number,), 1 + (number * 37 % 40) * 1e-5, 1000 + number * 7 % 3, 1000) for number in range(40)
    ]
    found = cheapest_set(kinds, lambda _: 20_001, Deadline())
    assert found is not None
    times = sorted(kind.time_s for kind in kinds)
    assert sum(times[:20]) * (1 - 1e-9) <= sum(kinds[layer].time_s for layer in found) <= sum(times[:21])
    assert sum(kinds[layer].freed_bytes for layer in found) >= 20_001


def test_equal_layers_are_taken_from_the_first_on() -> None:
    kind = RecomputedKind(layers=(4, 5, 6), time_s=1.0, freed_bytes=10, working_bytes=12)
    assert cheapest_set([kind], lambda _: 15, Deadline()) == [4, 5]
    assert cheapest_set([kind], lambda _: 31, Deadline()) is None
