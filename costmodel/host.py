"""What can be said of the computer and its software without timing anything: processor, kernel, provenance.

Profiles and runs state it the same way, so that a reader can tell whether the two were made on one machine.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from costmodel.spec.profile import Provenance


def cpu_name(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Model name of the processor, or its architecture where the kernel does not tell."""
    if cpuinfo.is_file():
        for line in cpuinfo.read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name" and value.strip():
                return value.strip()
    return platform.processor() or platform.machine()


def kernel_version() -> str:
    """Name and release of the operating system's kernel."""
    return f"{platform.system()} {platform.release()}"


def provenance_here(
    *,
    gpu: str | None,
    gpu_driver: str | None,
    backend: str,
    versions: Mapping[str, str],
    num_ranks: int,
    threads_per_rank: int,
) -> Provenance:
    """Provenance of what is measured here and now; the processor and the kernel stand in where there is no GPU.

    `versions` are those of the libraries used; Python's is added. No host name and no path: it may be published.
    """
    return Provenance(
        device=gpu or cpu_name(),
        driver=gpu_driver or kernel_version(),
        backend=backend,
        versions={"python": platform.python_version(), **versions},
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        num_ranks=num_ranks,
        threads_per_rank=threads_per_rank,
    )
