"""Peak memory of a rank: what CUDA's allocator counted, or how far the process grew on CPU.

The resident set follows allocations only where free memory goes back to the system at once. glibc keeps blocks below a
threshold that it raises as it goes; fixing both thresholds at 64 KiB makes every larger tensor its own mapping, and
the peak then agrees with the sum of live tensors within a few per cent. Linux keeps the peak itself and resets it on
demand (proc(5), `clear_refs`). Mapping every tensor anew costs time, most of all where tensors are small, so the peak
is taken over the first steps, and after them freed memory is kept as a training run would.
"""

from __future__ import annotations

import ctypes
import re
import sys
from pathlib import Path

import torch

from costmodel.errors import MissingError

_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_RETURN_ABOVE_BYTES = 64 * 1024
_KEEP_BELOW_BYTES = 32 * 1024**2
"""The most that glibc takes as its threshold for mappings."""
_NEVER_TRIM_BYTES = 2**31 - 1
_CLEAR_REFS = Path("/proc/self/clear_refs")
_RESET_PEAK = "5"


def return_freed_memory() -> None:
    """Make freed tensors leave the process at once. Call before the tensors to be counted are made."""
    _set_thresholds(_RETURN_ABOVE_BYTES, _RETURN_ABOVE_BYTES)


def keep_freed_memory() -> None:
    """Keep the memory of freed tensors for the next ones: the faster way, in which nothing can be counted."""
    _set_thresholds(_KEEP_BELOW_BYTES, _NEVER_TRIM_BYTES)


def _set_thresholds(mmap_bytes: int, trim_bytes: int) -> None:
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        if hasattr(libc, "mallopt"):
            libc.mallopt(_M_MMAP_THRESHOLD, mmap_bytes)
            libc.mallopt(_M_TRIM_THRESHOLD, trim_bytes)


class PeakMemory:
    """Counts from where it is made, so make it after libraries have warmed up and before the model is built."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stopped_at_bytes: int | None = None
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
        else:
            _reset_peak()
            self._base_bytes = _status_bytes("VmRSS")

    @property
    def counter(self) -> str:
        """Name of what is counted, as `Measurement.memory_counter` has it."""
        return "allocated" if self._device.type == "cuda" else "resident"

    def stop(self) -> None:
        """Count no further, and let freed memory be kept from here on. On CUDA counting costs nothing and goes on."""
        if self._device.type == "cpu":
            self._stopped_at_bytes = self.peak_bytes()
            keep_freed_memory()

    def peak_bytes(self) -> int:
        """The highest so far, or until `stop`."""
        if self._stopped_at_bytes is not None:
            return self._stopped_at_bytes
        if self._device.type == "cuda":
            return torch.cuda.max_memory_allocated(self._device)
        return max(0, _status_bytes("VmHWM") - self._base_bytes)


def _reset_peak() -> None:
    try:
        _CLEAR_REFS.write_text(_RESET_PEAK)
    except OSError as error:
        raise MissingError(
            f"peak memory of CPU ranks is counted with the help of {_CLEAR_REFS}, which cannot be written here "
            f"({error.strerror}); run on Linux, in a container that leaves it writable"
        ) from None


def _status_bytes(field: str) -> int:
    match = re.search(rf"^{field}:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    if match is None:
        raise MissingError(f"peak memory of CPU ranks needs {field} in /proc/self/status, which this kernel leaves out")
    return int(match.group(1)) * 1024
