"""Reading clusters: presets, files with units, and the number of GPUs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from costmodel.errors import BadInputError, MissingError
from costmodel.spec import NumberFormat, Precision, Source
from costmodel.spec.device import slowest
from planner.clusters.presets import preset_names
from planner.clusters.read import load_cluster, published_cluster

FILE = """\
schema: cluster/2
name: two racks
device:
  name: Some GPU
  kind: cuda
  peak_flop_per_s: {bf16: 100 TFLOP/s, fp32: 1.0e13}
  gemm_efficiency_frac: 0.7
  attention_efficiency_frac: 0.5
  memory_bytes: 80 GiB
  memory_reserved_bytes: 1 GiB
  mem_bandwidth_bytes_per_s: 2 TB/s
  source: assumed
tiers:
  - {name: node, num_devices: 4, link: pcie, bandwidth_bytes_per_s: 24 GB/s, latency_s: 5 us, source: assumed}
  - {name: network, link: ethernet, bandwidth_bytes_per_s: 100 Gbit/s, latency_s: 50 us, source: assumed}
"""


def write(folder: Path, text: str = FILE, name: str = "cluster.yaml") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("num_gpus", [1, 2, 7, 8, 64, 1000])
@pytest.mark.parametrize("name", preset_names())
def test_every_preset_serves_any_number_of_gpus(name: str, num_gpus: int) -> None:
    cluster = load_cluster(name, num_gpus)
    spec = cluster.spec
    assert spec.name == name
    assert spec.num_devices == num_gpus
    assert spec.tiers[-1].num_devices == num_gpus if spec.tiers else num_gpus == 1
    assert spec.device.note
    assert all(tier.note for tier in spec.tiers)
    assert any("published" in sentence for sentence in cluster.assumptions)


def test_a_node_and_more() -> None:
    inside, two_nodes = load_cluster("h100-sxm", 4).spec, load_cluster("h100-sxm", 12)
    assert [tier.name for tier in inside.tiers] == ["node"]
    assert [(tier.name, tier.num_devices) for tier in two_nodes.spec.tiers] == [("node", 8), ("network", 12)]
    assert "The last node holds 4 devices, the others 8." in two_nodes.assumptions
    assert two_nodes.spec.tiers[1].bandwidth_bytes_per_s == 40e9  # 400 Gbit/s / 8 x 0.8
    assert two_nodes.spec.device.memory_bytes == 81559 * 2**20


def test_a_v100_has_no_bf16() -> None:
    assert set(load_cluster("v100-sxm-32gb", 8).spec.device.peak_flop_per_s) == {Precision.FP16, Precision.FP32}


def test_a_file_states_formats_that_no_job_is_planned_in(tmp_path: Path) -> None:
    text = FILE.replace("fp32: 1.0e13}", "fp32: 1.0e13, fp8: 200 TFLOP/s}")
    device = load_cluster(write(tmp_path, text), 8).spec.device
    assert device.peak_flop_per_s[NumberFormat.FP8] == 200e12
    assert device.precisions == (Precision.BF16, Precision.FP32)
    only_fp8 = FILE.replace("{bf16: 100 TFLOP/s, fp32: 1.0e13}", "{fp8: 200 TFLOP/s}")
    with pytest.raises(BadInputError, match="must state one of bf16, fp16, fp32, which jobs are planned in"):
        load_cluster(write(tmp_path, only_fp8), 8)


def test_formats_that_one_of_two_devices_lacks_are_absent() -> None:
    h100, a100 = (load_cluster(name, 8).spec.device for name in ("h100-sxm", "a100-sxm-80gb"))
    both = slowest((h100, a100)).peak_flop_per_s
    assert both == a100.peak_flop_per_s  # 312 of 989 in bf16, ..., 624 of 1979 in int8, and no fp8


def test_what_is_assumed_is_said() -> None:
    said = "Assumed: link 'network' (2.5 GB/s per GPU); `planner show` of the cluster says from what."
    assert said in load_cluster("a100-pcie-80gb", 8).assumptions
    assert not any("ssumed" in sentence for sentence in load_cluster("h100-sxm", 64).assumptions)


def test_units_in_files(tmp_path: Path) -> None:
    spec = load_cluster(write(tmp_path), 6).spec
    assert spec.device.peak_flop_per_s == {Precision.BF16: 100e12, Precision.FP32: 1e13}
    assert spec.device.memory_limit_bytes == 79 * 2**30
    assert spec.device.mem_bandwidth_bytes_per_s == 2e12
    assert spec.tiers[1].bandwidth_bytes_per_s == 12.5e9
    assert spec.tiers[1].latency_s == pytest.approx(50e-6)
    assert spec.tiers[1].source is Source.ASSUMED


def test_json_and_yaml_say_the_same(tmp_path: Path) -> None:
    as_json = write(tmp_path, json.dumps(yaml.safe_load(FILE)), "cluster.json")
    assert load_cluster(as_json, 6).spec == load_cluster(write(tmp_path), 6).spec


def test_what_show_writes_can_be_read_back(tmp_path: Path) -> None:
    spec = load_cluster("b200", 16).spec
    assert load_cluster(write(tmp_path, spec.to_json(), "cluster.json"), 16).spec == spec


def test_a_file_may_take_the_device_of_a_preset(tmp_path: Path) -> None:
    data: dict[str, Any] = yaml.safe_load(FILE) | {"device": "l40s"}
    spec = load_cluster(write(tmp_path, yaml.safe_dump(data)), 4).spec
    assert spec.device == load_cluster("l40s", 4).spec.device


def test_a_file_with_a_number_of_devices_bounds_the_gpus(tmp_path: Path) -> None:
    path = write(tmp_path, FILE + "num_devices: 16\n")
    assert load_cluster(path, 16).spec.num_devices == 16
    with pytest.raises(BadInputError, match="has 16 devices, but 17 are asked for"):
        load_cluster(path, 17)


@pytest.mark.parametrize("num_gpus", [0, -1, 1_000_001])
def test_a_number_of_gpus_that_cannot_be(num_gpus: int) -> None:
    with pytest.raises(BadInputError, match=f"--gpus is {num_gpus}"):
        load_cluster("h100-sxm", num_gpus)


NAMES_THAT_LEAD_NOWHERE = [
    ("h100", "did you mean h100-nvl, h100-pcie, h100-sxm, "),
    ("4090", "did you mean rtx-4090, workstation-2x-rtx-4090"),
    ("NVIDIA H100", "did you mean h100-nvl, h100-pcie, h100-sxm"),
    ("p5en.48xlrage", "did you mean p5en.48xlarge"),
    ("a100-smx-80gb", "did you mean a100-sxm-80gb"),
    ("zzz", "`planner clusters` lists the presets"),
    ("/", "neither"),
]


@pytest.mark.parametrize(("name", "named"), NAMES_THAT_LEAD_NOWHERE)
def test_names_that_lead_nowhere(name: str, named: str) -> None:
    with pytest.raises(BadInputError, match=named):
        load_cluster(name, 8)


@pytest.mark.parametrize(
    ("text", "preset"),
    [
        ("NVIDIA H100 80GB HBM3", "h100-sxm"),
        ("nvidia a100-sxm4-80gb", "a100-sxm-80gb"),
        ("Tesla T4", "t4"),
        ("AMD Instinct MI300X", "mi300x"),
        ("H100-SXM", "h100-sxm"),
        ("P5en.48xlarge", "p5en.48xlarge"),
    ],
)
def test_a_preset_is_found_by_its_device_and_in_any_case(tmp_path: Path, text: str, preset: str) -> None:
    named = load_cluster(preset, 8)
    assert load_cluster(text, 8) == named
    assert load_cluster(write(tmp_path, f"device: {text}\n"), 8).spec.device == named.spec.device


def test_a_cpu_has_to_be_measured() -> None:
    with pytest.raises(MissingError, match="planner profile --device cpu"):
        load_cluster("cpu", 2)


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("schema: cluster/2", "schema: cluster/3", "schema is 'cluster/3'"),
        ("80 GiB", "80 GB B", "memory_bytes"),
        ("80 GiB", "80 G", "could mean two things"),
        ("80 GiB", "-1", "memory_bytes"),
        ("100 Gbit/s", "0", "bandwidth_bytes_per_s"),
        ("  kind: cuda\n", "", "device lacks kind; name a preset, or add them, e.g. kind: cuda"),
        ("kind: cuda", "kind: tpu", "device: kind is"),
        ("link: pcie", "link: string", "link"),
        ("bf16: 100 TFLOP/s", "bf17: 100 TFLOP/s", "peak_flop_per_s"),
        ("num_devices: 4", "num_devices: 0", "num_devices"),
        ("name: two racks", "name: two racks\ncolour: red", "unknown key 'colour'"),
        ("name: two racks", "name: two racks\nname: three", "line 3, column 1: key 'name' stands twice"),
        ("  kind: cuda", "  kind: cuda\n  kind: cpu", "line 6, column 3: key 'kind' stands twice"),
        ("name: two racks", "name: two racks\n? [a, b]\n: 1", "unhashable key"),
        ("name: two racks", "name: two racks\n1: 2", "unknown key 1"),
        ("name: two racks", 'name: "\\ud800"', "name"),
        ("name: two racks", "name: a\x1b[2J", "not valid YAML: unacceptable character"),
        ("name: two racks", "name: 2020-01-01", "name is 2020-01-01, but must be a text"),
        ("num_devices: 4", "num_devices: yes", "num_devices is true"),
        ("num_devices: 4", "num_devices: 0x" + "f" * 9000, "num_devices is far too large, but must be from 1 to 1e"),
        ("num_devices: 4", "num_devices: four", "num_devices"),
        ("80 GiB", ".inf", "memory_bytes is inf, but must be from"),
        ("80 GiB", "1e400", "memory_bytes is inf"),
        ("80 GiB", "9e18", "memory_bytes is 9e"),
        ("2 TB/s", ".nan", "mem_bandwidth_bytes_per_s is nan"),
        ("2 TB/s", "1e-300", "mem_bandwidth_bytes_per_s is 1e-300, but must be from"),
        ("24 GB/s", "1e-300", "bandwidth_bytes_per_s is 1e-300"),
        ("5 us", "1e300", "latency_s is 1e"),
        ("5 us", "-5 us", "latency_s"),
        ("{bf16: 100 TFLOP/s, fp32: 1.0e13}", "{}", "peak_flop_per_s is {}"),
        ("1.0e13", "-1.0e13", "peak_flop_per_s is -1e"),
        ("name: two racks", "name: [", "not valid YAML at line"),
        ("name: two racks", "name: &a x\nother: *a", "aliases"),
        ("name: two racks", "name: !!python/object/apply:os.getcwd []", "not valid YAML"),
        ("  name: Some GPU", "  name: 2001-13-45", "not valid YAML"),
    ],
)
def test_faulty_files_are_refused_by_name(tmp_path: Path, old: str, new: str, named: str) -> None:
    assert old in FILE
    with pytest.raises(BadInputError, match=re.escape(named)):
        load_cluster(write(tmp_path, FILE.replace(old, new)), 8)


@pytest.mark.parametrize("text", [FILE.replace("\n", "\r\n"), "\ufeff" + FILE], ids=["CRLF", "byte order mark"])
def test_files_from_other_systems(tmp_path: Path, text: str) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_bytes(text.encode())
    assert load_cluster(str(path), 6).spec == load_cluster(write(tmp_path, name="plain.yaml"), 6).spec


def test_more_devices_than_any_cluster_has(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"num_devices is 1e\+13, but must be from 1 to"):
        load_cluster(write(tmp_path, FILE + "num_devices: 10000000000000\n"), None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "5",
        "a: b",
        "schema: cluster/2",
        "{" * 5000,
        "\t",
        "&a [*a]",
        "a: &a [x]\nb: [*a, *a]",
        "a: b\n" * 20_000,
    ],
)
def test_files_that_hold_no_cluster(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadInputError, match="cluster file"):
        load_cluster(write(tmp_path, text), 8)


def test_a_device_at_hand_finds_its_published_figures() -> None:
    found = published_cluster("NVIDIA H200")
    assert found is not None
    assert found.name == "h200-sxm"
    assert published_cluster("Some GPU") is None
