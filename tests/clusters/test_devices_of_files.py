"""Devices of one's own: the example and the table of docs/clusters.md are what is read."""

from __future__ import annotations

import re
from pathlib import Path

from costmodel.spec import Device, Precision
from planner.clusters.devices import EXAMPLES
from planner.clusters.read import load_cluster

SECTION = (
    (Path(__file__).parents[2] / "docs" / "clusters.md")
    .read_text(encoding="utf-8")
    .partition("### A device of one's own\n")[2]
    .partition("\n## ")[0]
)
TWO_OVER_PCIE = " GPU0 GPU1\nGPU0 X PIX\nGPU1 PIX X\n"


def test_the_example_of_the_docs_is_read(tmp_path: Path) -> None:
    example = SECTION.partition("```yaml\n")[2].partition("```")[0]
    (tmp_path / "cluster.yaml").write_text(example.replace("devices_per_node: 8", "devices_per_node: 2"))
    (tmp_path / "topo.txt").write_text(TWO_OVER_PCIE)
    spec = load_cluster(str(tmp_path / "cluster.yaml"), 4).spec
    assert spec.device.peak_flop_per_s == {Precision.BF16: 100e12, Precision.FP32: 50e12}
    assert (spec.device.memory_bytes, spec.device.mem_bandwidth_bytes_per_s) == (48 * 2**30, 1e12)
    # 31 GB/s x 0.77 behind one bridge; 80 Gbit/s / 8 between machines.
    assert [tier.bandwidth_bytes_per_s for tier in spec.tiers] == [23.87e9, 10e9]


def test_the_table_of_the_docs_has_every_key_and_says_which_are_needed() -> None:
    rows = [row.split("|")[1:3] for row in SECTION.splitlines() if row.startswith("| `")]
    needed = {key: mark.strip() == "yes" for cell, mark in rows for key in re.findall(r"`(\w+)`", cell)}
    assert needed.keys() == Device.model_fields.keys()
    assert {key for key, is_needed in needed.items() if is_needed} == set(EXAMPLES)
