"""Peak memory of a CPU rank follows the tensors it makes, those already freed included."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from costmodel.errors import MissingError
from executor.memory import PeakMemory, return_freed_memory
from executor.ranks import run_ranks

MIB = 1 << 20


def test_the_peak_is_the_largest_sum_of_live_tensors() -> None:
    def body() -> list[int]:
        return_freed_memory()
        before = torch.ones(32 * MIB, dtype=torch.uint8)
        memory = PeakMemory(torch.device("cpu"))
        kept = torch.ones(64 * MIB, dtype=torch.uint8)
        peaks = [memory.peak_bytes()]
        freed = torch.ones(128 * MIB, dtype=torch.uint8)
        del freed
        small = [torch.ones(MIB // 4, dtype=torch.uint8) for _ in range(64)]
        peaks.append(memory.peak_bytes())
        assert before.numel() + kept.numel() + len(small) > 0
        return peaks

    [[first, second]] = run_ranks(body, 1)
    assert first == pytest.approx(64 * MIB, rel=0.03)
    # 64 kept and 128 freed before the 16 of the small ones are made.
    assert second == pytest.approx(192 * MIB, rel=0.03)


def test_cuda_memory_is_named_by_its_counter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda _: None)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda _: 17)
    memory = PeakMemory(torch.device("cuda", 0))
    assert (memory.counter, memory.peak_bytes()) == ("allocated", 17)


def test_a_system_that_cannot_count_is_missing_something(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("executor.memory._CLEAR_REFS", Path("/proc/self/absent"))
    with pytest.raises(MissingError, match=r"/proc/self/absent, which cannot be written here \(.*\); run on Linux"):
        PeakMemory(torch.device("cpu"))
