"""How the ranks of one computer share its cores."""

from __future__ import annotations

import ctypes
import os


def num_cores() -> int:
    """CPU cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def threads_per_rank(num_local_ranks: int) -> int:
    """Threads of each rank: an equal share of the cores, at least one."""
    return max(1, num_cores() // num_local_ranks)


def end_openmp_threads() -> None:
    """End the idle threads of this process's OpenMP pool; the next parallel region starts new ones.

    A fork copies the pool's bookkeeping but not its threads, so a child with more than one thread would wait for them
    for ever (OpenMP 5.0, section 3.2.44, lets a program release them).
    """
    omp_pause_hard = 2
    library = ctypes.CDLL(None)
    if hasattr(library, "omp_pause_resource_all"):
        library.omp_pause_resource_all(omp_pause_hard)
