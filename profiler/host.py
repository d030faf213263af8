"""Memory of this computer: what it has and what is in use, without timing anything."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import psutil

CGROUP = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class HostMemory:
    """Memory of this computer, or of the container that holds this process if that is less."""

    total_bytes: int
    used_bytes: int
    """What processes hold now; file caches that the kernel would drop do not count."""


def host_memory(cgroup: Path = CGROUP) -> HostMemory:
    """Physical memory, limited by a control group (version 2, or version 1) where one sets a lower limit."""
    machine = psutil.virtual_memory()
    physical = HostMemory(total_bytes=machine.total, used_bytes=machine.total - machine.available)
    for limit, usage, stat, cache_key in (
        ("memory.max", "memory.current", "memory.stat", "inactive_file"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat", "total_inactive_file"),
    ):
        limit_bytes = _number(cgroup / limit)
        if limit_bytes is not None and limit_bytes < physical.total_bytes:
            used = (_number(cgroup / usage) or 0) - _stat(cgroup / stat, cache_key)
            return HostMemory(total_bytes=limit_bytes, used_bytes=max(0, used))
    return physical


def _number(path: Path) -> int | None:
    """The number in a file of the kernel; None where the file is not there or says `max`."""
    text = path.read_text().strip() if path.is_file() else ""
    return int(text) if text.isdecimal() else None


def _stat(path: Path, key: str) -> int:
    lines = path.read_text().splitlines() if path.is_file() else []
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{key} ")), 0)
