"""Facts about this computer, as a profile and a run state them."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from pathlib import Path

from costmodel.host import cpu_name, kernel_version, provenance_here


def test_the_processor_is_named_as_the_kernel_names_it(tmp_path: Path) -> None:
    info = tmp_path / "cpuinfo"
    info.write_text("processor\t: 0\nvendor_id\t: X\nmodel name\t: Fast CPU @ 2.00GHz\n\nmodel name\t: other\n")
    assert cpu_name(info) == "Fast CPU @ 2.00GHz"


def test_a_processor_without_a_name_has_its_architecture(tmp_path: Path) -> None:
    assert cpu_name(tmp_path / "absent")


def test_the_kernel_has_a_version() -> None:
    assert any(character.isdigit() for character in kernel_version())


def test_provenance_names_the_gpu_where_there_is_one_and_else_the_processor() -> None:
    versions, ranks = {"torch": "2"}, {"num_ranks": 4, "threads_per_rank": 2}
    on_gpu = provenance_here(gpu="H200", gpu_driver="580", backend="nccl", versions=versions, **ranks)
    assert (on_gpu.device, on_gpu.driver, on_gpu.num_ranks, on_gpu.threads_per_rank) == ("H200", "580", 4, 2)
    on_cpu = provenance_here(gpu=None, gpu_driver=None, backend="gloo", versions=versions, **ranks)
    assert (on_cpu.device, on_cpu.driver) == (cpu_name(), kernel_version())
    assert on_cpu.versions == {"python": platform.python_version(), "torch": "2"}
    assert datetime.fromisoformat(on_cpu.date).tzinfo is UTC
