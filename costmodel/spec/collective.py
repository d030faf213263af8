"""What ranks do together, and CollectiveTable: measured times of one such operation over one group, size by size."""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from itertools import accumulate
from statistics import median
from typing import ClassVar, Self

from pydantic import Field, model_validator

from costmodel.spec.base import Document, Source, Spec


class Collective(StrEnum):
    """Operations between ranks. Sizes are those of the whole (unsharded) tensor, or of the message for send_recv."""

    ALL_REDUCE = "all_reduce"
    ALL_GATHER = "all_gather"
    REDUCE_SCATTER = "reduce_scatter"
    ALL_TO_ALL = "all_to_all"
    BROADCAST = "broadcast"
    REDUCE = "reduce"
    SEND_RECV = "send_recv"
    GATHER = "gather"
    SCATTER = "scatter"

    def bus_factor(self, num_ranks: float) -> float:
        """busbw / algbw: what a rank sends and receives for each byte (nccl-tests doc/PERFORMANCE.md)."""
        match self:
            case Collective.ALL_REDUCE:
                return 2 * (num_ranks - 1) / num_ranks
            case Collective.BROADCAST | Collective.REDUCE | Collective.SEND_RECV:
                return 1.0
            case _:
                return (num_ranks - 1) / num_ranks


class CollectivePoint(Spec):
    """One size of a table, out of place unless that alone was measured in place."""

    bytes: int = Field(ge=0)
    time_s: float = Field(ge=0)
    busbw_bytes_per_s: float = Field(ge=0)
    """As printed, so rounded to 10 MB/s and 0 for small sizes."""
    in_place_time_s: float | None = Field(default=None, ge=0)
    num_wrong: int | None = Field(default=None, ge=0)
    """Elements that the check found wrong; None where it did not run."""

    @property
    def enters_fit(self) -> bool:
        """Whether a cost model may rest on it: a size, a time and a bandwidth above 0, and no wrong element."""
        return min(self.bytes, self.time_s, self.busbw_bytes_per_s) > 0 and not self.num_wrong


class CollectiveTable(Document):
    """What one run of a collective measured."""

    SCHEMA: ClassVar[str] = "collective_table/1"

    collective: Collective
    num_ranks: int | None = Field(default=None, ge=1)
    """None where neither a list of ranks nor the bandwidths say."""
    devices: tuple[str, ...] = ()
    """Names of the devices, each once, where the output lists them."""
    num_nodes: int | None = Field(default=None, ge=1)
    """None where the output does not list hosts that differ."""
    source: Source = Source.MEASURED
    """Measured on the machine at hand, or analytic where it was published of such machines."""
    samples: tuple[CollectivePoint, ...] = Field(min_length=1)
    """In the order of the output; sizes may repeat."""
    warnings: tuple[str, ...] = ()

    @cached_property
    def times(self) -> tuple[tuple[int, float], ...]:
        """(bytes, seconds) of what enters a fit, one time a size, in rising order of both.

        Of a size that was measured more than once the median counts. One that took longer than a larger one takes as
        long as that: what disturbs a measurement makes it slower.
        """
        of_size: dict[int, list[float]] = {}
        for point in self.samples:
            if point.enters_fit:
                of_size.setdefault(point.bytes, []).append(point.time_s)
        falling = sorted(of_size, reverse=True)
        shortest = accumulate((median(of_size[size]) for size in falling), min)
        return tuple(zip(falling, shortest, strict=True))[::-1]

    @cached_property
    def measured_bytes(self) -> frozenset[int]:
        """Sizes whose time in `times` stands in the output as it is."""
        printed = {(point.bytes, point.time_s) for point in self.samples}
        return frozenset(size for size, time_s in self.times if (size, time_s) in printed)

    def within(self, devices_per_node: int) -> Self:
        """The same, but on one machine where the output lists no hosts and its ranks fit one of `devices_per_node`."""
        if self.num_nodes is not None or self.num_ranks is None or self.num_ranks > devices_per_node:
            return self
        return self.model_copy(update={"num_nodes": 1})

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.num_ranks is not None and self.num_nodes is not None and self.num_nodes > self.num_ranks:
            raise ValueError(f"num_nodes {self.num_nodes} is more than num_ranks {self.num_ranks}")
        return self
