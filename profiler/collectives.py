"""Times collectives and messages between the real ranks over a range of sizes.

A call is timed from a barrier to its end on the slowest rank. All groups of one size work at the same moment, as
they do in training, and share what they share there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.distributed as dist

from costmodel.spec import Collective, CollectiveSample
from profiler.rounds import Times, spread_of_meetings
from profiler.stopwatch import stopwatch

KIB, MIB = 1024, 1024**2
SMALLEST_BYTES = KIB
LARGEST_BYTES = 256 * MIB
DENSE_BYTES = (64 * KIB, 64 * MIB)
"""Activations of a micro-batch and weights of a layer lie here: sizes are spaced by 2 instead of by 4."""
NUMBER = torch.float32
"""Gradients are reduced in four bytes whatever the precision of the layers."""


BETWEEN_ALL = (Collective.ALL_REDUCE, Collective.ALL_GATHER, Collective.REDUCE_SCATTER)
"""What plans of this version ask of a whole group; neighbours send and receive besides."""


@dataclass(frozen=True)
class CollectiveCase:
    """One operation between groups of `num_ranks` consecutive ranks; the size is that of the whole tensor."""

    op: Collective
    num_ranks: int
    size_bytes: int


def message_sizes(largest_bytes: int, num_ranks: int) -> list[int]:
    """Sizes from 1 KiB to `largest_bytes` (at most 256 MiB), each a whole number of values for each of the ranks."""
    largest = min(max(largest_bytes, SMALLEST_BYTES), LARGEST_BYTES)
    dense_from, dense_to = DENSE_BYTES
    sizes, size = [], SMALLEST_BYTES
    while size < largest:
        sizes.append(size)
        size *= 2 if dense_from <= size < dense_to else 4
    unit = NUMBER.itemsize * num_ranks
    return sorted({-(-size // unit) * unit for size in [*sizes, largest]})


def collective_cases(num_ranks: int, largest_bytes: int) -> list[CollectiveCase]:
    """All cases on `num_ranks` ranks, by size: each group size that divides them, and messages between neighbours."""
    if num_ranks < 2:
        return []
    groups = [size for size in range(2, num_ranks + 1) if num_ranks % size == 0]
    kinds: list[tuple[Collective, int]] = [(op, size) for size in groups for op in BETWEEN_ALL]
    kinds.append((Collective.SEND_RECV, 2))
    return [CollectiveCase(op, group, size) for size in message_sizes(largest_bytes, num_ranks) for op, group in kinds]


def affordable(cases: Sequence[CollectiveCase], times: Sequence[float], budget_s: float) -> list[CollectiveCase]:
    """The cases, from the smallest size on, whose `times` add up to at most `budget_s`; whole sizes, at least two."""
    kept: list[CollectiveCase] = []
    spent_s, sizes = 0.0, sorted({case.size_bytes for case in cases})
    for position, size in enumerate(sizes):
        spent_s += sum(time for case, time in zip(cases, times, strict=True) if case.size_bytes == size)
        if position >= 2 and spent_s > budget_s:
            break
        kept += [case for case in cases if case.size_bytes == size]
    return kept


class CollectiveTimer:
    """The collectives of all cases on one rank of the default process group, ready to be timed in rounds."""

    def __init__(self, cases: Sequence[CollectiveCase], device: torch.device) -> None:
        self.cases = list(cases)
        self._groups = {
            size: dist.new_subgroups(group_size=size)[0]  # type: ignore[no-untyped-call]
            for size in sorted({case.num_ranks for case in cases if case.op is not Collective.SEND_RECV})
        }
        numbers = max(case.size_bytes for case in cases) // NUMBER.itemsize
        # Sums of zeros stay zero: values that grow to infinity or shrink to denormals would change the time.
        self._whole = torch.zeros(numbers, dtype=NUMBER, device=device)
        self._other = torch.zeros(numbers, dtype=NUMBER, device=device)
        self._watch = stopwatch(device)

    def visit(self) -> list[float]:
        """One round: seconds from a barrier to the end of the call on this rank, one per case."""
        calls = [self._call(case) for case in self.cases]
        for call in calls:
            dist.barrier()
            self._watch.mark()
            call()
            self._watch.mark()
        return self._watch.read()[::2]

    def _call(self, case: CollectiveCase) -> Callable[[], object]:
        numbers = case.size_bytes // NUMBER.itemsize
        whole, part = self._whole[:numbers], self._other[: numbers // case.num_ranks]
        if case.op is Collective.SEND_RECV:
            return lambda: _pass_on(whole)
        group = self._groups[case.num_ranks]
        calls: dict[Collective, Callable[[], object]] = {
            Collective.ALL_REDUCE: lambda: dist.all_reduce(whole, group=group),
            Collective.ALL_GATHER: lambda: dist.all_gather_single(whole, part, group=group),
            Collective.REDUCE_SCATTER: lambda: dist.reduce_scatter_single(part, whole, group=group),
        }
        return calls[case.op]


def _pass_on(message: torch.Tensor) -> None:
    """Each even rank sends `message` to the next one; a last rank without a neighbour has nothing to do."""
    rank = dist.get_rank()
    peer = rank ^ 1
    if peer >= dist.get_world_size():
        return
    kind = dist.irecv if rank % 2 else dist.isend
    for request in dist.batch_isend_irecv([dist.P2POp(kind, message, peer)]):
        request.wait()


def collective_samples(cases: Sequence[CollectiveCase], times_by_rank: Sequence[Times]) -> tuple[CollectiveSample, ...]:
    """Samples of all cases from the rounds of all ranks, each of shape (rounds, cases)."""
    return tuple(
        CollectiveSample(
            op=case.op,
            num_ranks=case.num_ranks,
            size_bytes=case.size_bytes,
            time=spread_of_meetings([times[:, item] for times in times_by_rank]),
        )
        for item, case in enumerate(cases)
    )


def slowest(times: Sequence[float], device: torch.device) -> list[float]:
    """The largest of each of `times` over all ranks."""
    tensor = torch.from_numpy(np.asarray(times)).to(device)
    dist.all_reduce(tensor, dist.ReduceOp.MAX)
    return [float(value) for value in tensor.tolist()]
