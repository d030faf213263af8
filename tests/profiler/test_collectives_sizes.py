"""Which collectives are measured, and at which sizes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costmodel.spec import Collective
from profiler.collectives import (
    BETWEEN_ALL,
    KIB,
    LARGEST_BYTES,
    MIB,
    CollectiveCase,
    affordable,
    collective_cases,
    message_sizes,
)


def test_sizes_are_dense_where_it_matters() -> None:
    # 4 KiB steps of 4 up to 64 KiB, then steps of 2, then the largest itself.
    sizes = message_sizes(300 * KIB, num_ranks=2)
    assert sizes == [KIB, 4 * KIB, 16 * KIB, 64 * KIB, 128 * KIB, 256 * KIB, 300 * KIB]


def test_sizes_above_64_mib_are_spaced_by_4() -> None:
    assert message_sizes(10**12, num_ranks=2)[-3:] == [32 * MIB, 64 * MIB, 256 * MIB]


@given(largest=st.integers(1, 10**10), num_ranks=st.integers(2, 64))
def test_every_size_can_be_split_between_the_ranks(largest: int, num_ranks: int) -> None:
    sizes = message_sizes(largest, num_ranks)
    assert all(size % (4 * num_ranks) == 0 for size in sizes)
    assert all(before < after for before, after in pairwise(sizes))
    # The largest is reached, rounded up by less than one value for each rank.
    wanted = min(max(largest, KIB), LARGEST_BYTES)
    assert wanted <= sizes[-1] < wanted + 4 * num_ranks


def test_groups_are_those_that_divide_the_ranks() -> None:
    cases = collective_cases(6, largest_bytes=KIB)
    assert {case.num_ranks for case in cases if case.op is Collective.ALL_REDUCE} == {2, 3, 6}
    assert {case.num_ranks for case in cases if case.op is Collective.SEND_RECV} == {2}
    assert {case.op for case in cases} == {*BETWEEN_ALL, Collective.SEND_RECV}


def test_one_rank_has_no_collectives() -> None:
    assert collective_cases(1, largest_bytes=MIB) == []


def all_reduce(size_bytes: int) -> CollectiveCase:
    return CollectiveCase(Collective.ALL_REDUCE, 2, size_bytes)


@pytest.mark.parametrize(
    ("budget_s", "largest"),
    # 1 + 2 + 4 + 8 = 15 s for all, 7 s for the first three; the first two are always kept.
    [(15.0, 4096), (14.9, 3072), (7.0, 3072), (6.9, 2048), (0.1, 2048)],
)
def test_large_messages_are_left_out_where_the_budget_is_short(budget_s: float, largest: int) -> None:
    cases = [all_reduce(size) for size in (1024, 2048, 3072, 4096)]
    kept = affordable(cases, [1.0, 2.0, 4.0, 8.0], budget_s)
    assert kept == [case for case in cases if case.size_bytes <= largest]
