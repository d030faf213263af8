"""Memory of this computer, read from files of the kernel."""

from __future__ import annotations

from pathlib import Path

import psutil

from profiler.host import host_memory


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


def test_memory_without_a_control_group_is_that_of_the_machine(tmp_path: Path) -> None:
    memory = host_memory(tmp_path)
    assert memory.total_bytes == psutil.virtual_memory().total
    assert 0 < memory.used_bytes < memory.total_bytes


def test_a_control_group_limits_memory(tmp_path: Path) -> None:
    # 300 bytes of the 1000 in use are file cache that the kernel would drop.
    write(tmp_path, memory__max="5000\n", memory__current="1000\n", memory__stat="anon 700\ninactive_file 300\n")
    memory = host_memory(tmp_path)
    assert (memory.total_bytes, memory.used_bytes) == (5000, 700)


def test_a_control_group_of_version_1_limits_memory(tmp_path: Path) -> None:
    write(
        tmp_path / "memory",
        memory__limit_in_bytes="6000",
        memory__usage_in_bytes="1000",
        memory__stat="cache 1\ntotal_inactive_file 400\n",
    )
    memory = host_memory(tmp_path)
    assert (memory.total_bytes, memory.used_bytes) == (6000, 600)


def test_a_control_group_without_a_limit_changes_nothing(tmp_path: Path) -> None:
    write(tmp_path, memory__max="max\n", memory__current="1000\n")
    assert host_memory(tmp_path).total_bytes == psutil.virtual_memory().total
