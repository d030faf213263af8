"""Ranks that stay up between tests.

`ranks(n)` gives a group of n ranks with one process group, started when first asked for and kept for the session, so
that a test pays neither for the fork nor for torch's first-use caches again (tensor parallelism has seconds of them).
A test that breaks its ranks gets them ended, and the next test new ones. Tests whose ranks must fail use `run_ranks`.
Functions that run on the ranks stand in `layouts.py`: they travel by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
from layouts import Reference, reference_step
from plan_files import TINY_LLAMA

from executor.ranks import RankGroup
from executor.warm_up import warm_up

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def ranks() -> Iterator[Callable[[int], RankGroup]]:
    groups: dict[int, RankGroup] = {}
    warm_up(torch.device("cpu"))

    def group_of(num_ranks: int) -> RankGroup:
        if num_ranks not in groups or not groups[num_ranks].is_open:
            groups[num_ranks] = RankGroup(num_ranks)
        return groups[num_ranks]

    yield group_of
    for group in groups.values():
        group.close()


@pytest.fixture(scope="session")
def reference() -> Reference:
    """Loss and gradients of the tiny Llama as transformers itself computes them, in one process."""
    return reference_step(TINY_LLAMA)
