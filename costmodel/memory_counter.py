"""From what a rank allocates to what a counter of memory shows of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from costmodel import uncertainty
from costmodel.spec import Prediction

SLACK_FACTOR = 1.14
CONTEXT_BYTES = round(4.8 * 2**30)
"""What nvidia-smi shows beyond tensors: slack of the caching allocator, and context and communication library; fitted
on published readings of Megatron-DeepSpeed."""


class MemoryCounter(StrEnum):
    """What a figure of memory counts."""

    ALLOCATED = "allocated"
    """Tensors: `torch.cuda.max_memory_allocated`."""
    RESERVED = "reserved"
    """What the caching allocator holds."""
    NVIDIA_SMI = "nvidia-smi"
    """All of the process, its context and the communication library with it."""
    UNKNOWN = "unknown"
    """A figure that does not say; taken as that of tensors."""


class MemoryRank(StrEnum):
    """Whose figure it is."""

    WORST = "max"
    LAST = "last"
    """The last rank, which is one of the last stage."""


@dataclass(frozen=True)
class CountedPeak:
    """A peak as a counter shows it, with its bounds."""

    bytes: int
    low_bytes: int
    high_bytes: int


def counted_peak(prediction: Prediction, counter: MemoryCounter, rank: MemoryRank) -> CountedPeak | None:
    """The peak that `counter` shows on `rank`; None for a counter that has no model yet."""
    if counter is MemoryCounter.RESERVED:
        return None
    stage = prediction.stages[-1] if rank is MemoryRank.LAST else prediction.stages[prediction.peak_stage]
    size_bytes = stage.peak_bytes
    if counter is MemoryCounter.NVIDIA_SMI:
        size_bytes = round(SLACK_FACTOR * size_bytes) + CONTEXT_BYTES
    low_bytes, high_bytes = uncertainty.memory_bounds_bytes(size_bytes)
    return CountedPeak(size_bytes, low_bytes, high_bytes)
