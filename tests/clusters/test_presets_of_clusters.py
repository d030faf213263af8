"""The presets of GPUs and machines: what they are called, what their figures must satisfy, and what follows of them."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
from preset_table import PAGE, page_with_tables

from costmodel.collectives.crossings import crossings
from costmodel.errors import BadInputError
from costmodel.spec import Device, LinkKind, NumberFormat, Precision, Source
from costmodel.spec.device import FIGURES
from planner.clusters import devices
from planner.clusters.devices import read_device
from planner.clusters.presets import (
    device_data,
    gpu_names,
    machine_names,
    preset_data,
    preset_names,
    preset_of_device,
    preset_path,
)
from planner.clusters.read import load_cluster
from planner.clusters.strict_yaml import parse_shipped, parse_yaml

SHEET_GB = {
    "v100-sxm-16gb": 16, "v100-sxm-32gb": 32, "v100-pcie-16gb": 16, "v100-pcie-32gb": 32, "t4": 16,
    "a100-sxm-40gb": 40, "a100-sxm-80gb": 80, "a100-pcie-40gb": 40, "a100-pcie-80gb": 80, "a800-sxm-80gb": 80,
    "a30": 24, "a40": 48, "a10": 24, "a10g": 24, "rtx-a6000": 48, "rtx-6000-ada": 48, "l4": 24, "l40": 48, "l40s": 48,
    "rtx-3090": 24, "rtx-4090": 24, "rtx-5090": 32, "rtx-pro-6000": 96, "h100-pcie": 80, "h100-nvl": 94,
    "h100-sxm": 80, "h800-sxm": 80, "h20": 96, "h200-sxm": 141, "h200-nvl": 141, "gh200-96gb": 96, "gh200-144gb": 144,
    "b200": 180, "b300": 288, "gb200": 186, "gb300": 288, "mi250x": 64, "mi300x": 192, "mi325x": 256, "mi350x": 288,
    "mi355x": 288,
}  # fmt: skip
"""Memory as the makers advertise it, which is in units of 2**30 bytes."""

SPARSE_TFLOPS = {
    "a100-sxm-80gb": 624, "a100-pcie-40gb": 624, "a30": 330, "a40": 299.4, "a10": 250, "rtx-a6000": 309.7, "l4": 242,
    "l40": 362.1, "l40s": 733, "rtx-3090": 142, "rtx-4090": 330.4, "rtx-5090": 419, "h100-pcie": 1513,
    "h100-nvl": 1671, "h100-sxm": 1979, "h200-sxm": 1979, "h200-nvl": 1671, "b200": 4500, "gb200": 5000,
    "mi300x": 2614.9, "mi325x": 2614.9,
}  # fmt: skip
"""bf16 with two of four weights left out, which is what many data sheets print first."""

CHIPS = {
    "Volta": {"v100-sxm-16gb", "v100-sxm-32gb", "v100-pcie-16gb", "v100-pcie-32gb"},
    "Turing": {"t4"},
    "Ampere": {"a100-sxm-40gb", "a100-sxm-80gb", "a100-pcie-40gb", "a100-pcie-80gb", "a800-sxm-80gb", "a30", "a40",
               "a10", "a10g", "rtx-a6000", "rtx-3090"},
    "Ada": {"l4", "l40", "l40s", "rtx-4090", "rtx-6000-ada"},
    "Hopper": {"h100-sxm", "h100-pcie", "h100-nvl", "h800-sxm", "h20", "h200-sxm", "h200-nvl", "gh200-96gb",
               "gh200-144gb"},
    "Blackwell": {"b200", "b300", "gb200", "gb300", "rtx-5090", "rtx-pro-6000"},
    "CDNA 2": {"mi250x"}, "CDNA 3": {"mi300x", "mi325x"}, "CDNA 4": {"mi350x", "mi355x"},
}  # fmt: skip
OTHER_FORMATS: dict[str, set[str]] = {
    "Volta": set(), "Turing": {"int8"}, "Ampere": {"tf32", "int8"}, "Ada": {"tf32", "fp8", "int8"},
    "Hopper": {"tf32", "fp8", "int8"}, "Blackwell": {"tf32", "fp8", "fp4", "int8"},
    "CDNA 2": {"int8"}, "CDNA 3": {"tf32", "fp8", "int8"}, "CDNA 4": {"fp8", "fp4", "int8"},
}  # fmt: skip
"""What matrix units of a generation multiply in beside bf16, fp16 and fp32 (CUDA C++ Programming Guide, compute
capabilities 7.0 to 12.0; ROCm documentation, data types of the CDNA architectures)."""

MACHINES = {
    "dgx-1-v100", "dgx-a100", "dgx-h100", "dgx-h200", "dgx-b200", "dgx-b300", "gb200-nvl72", "p3dn.24xlarge",
    "p4d.24xlarge", "p4de.24xlarge", "p5.48xlarge", "p5e.48xlarge", "p5en.48xlarge", "p6-b200.48xlarge", "g5.48xlarge",
    "g6e.48xlarge", "nd-a100-v4", "ndm-a100-v4", "nd-h100-v5", "nd-h200-v5", "nd-mi300x-v5", "nc-a100-v4",
    "a2-highgpu-8g", "a3-highgpu-8g", "a3-megagpu-8g", "a3-ultragpu-8g", "bm.gpu.h100.8", "workstation-2x-rtx-4090",
}  # fmt: skip


def test_names() -> None:
    assert set(gpu_names()) == SHEET_GB.keys()
    assert set(machine_names()) >= MACHINES
    assert not set(gpu_names()) & set(machine_names())
    assert all(preset_data(name)["name"] == name for name in preset_names())


@pytest.mark.parametrize("name", preset_names())
def test_a_shipped_file_keeps_the_rules_of_a_users(name: str) -> None:
    path = preset_path(name)
    assert path is not None
    content = path.read_text(encoding="utf-8")
    assert parse_yaml(content, name) == parse_shipped(content)


@pytest.mark.parametrize("name", gpu_names())
def test_every_figure_has_a_source_and_a_figure_that_nobody_published_has_none(name: str) -> None:
    device = preset_data(name)["device"]
    assert device.keys() >= set(FIGURES), "what nobody published is null, not left out"
    assert device["sources"].keys() == {figure for figure in FIGURES if device[figure] is not None}
    assert all(len(source) > 5 for source in device["sources"].values())


@pytest.mark.parametrize("name", gpu_names())
def test_a_device_at_hand_finds_its_preset(name: str) -> None:
    assert preset_of_device(preset_data(name)["device"]["name"]) == name


@pytest.mark.parametrize("name", gpu_names())
def test_a_driver_reports_a_little_less_memory_than_is_advertised(name: str) -> None:
    share = preset_data(name)["device"]["memory_bytes"] / (SHEET_GB[name] * 2**30)
    # Of 16 GiB, T4 reports 15; of 288, B300 269, the rest being ECC and firmware. GH200 of 144 GB reports 143.4.
    assert 0.93 < share <= 1


@pytest.mark.parametrize("name", gpu_names())
def test_bf16_is_absent_where_the_hardware_lacks_it(name: str) -> None:
    peaks = preset_data(name)["device"]["peak_flop_per_s"]
    lacks = name.startswith("v100") or name == "t4"
    assert peaks.keys() & {*Precision} == ({"fp16", "fp32"} if lacks else {"bf16", "fp16", "fp32"})
    assert lacks or peaks["bf16"] == peaks["fp16"]
    # fp32 is that of the plain cores; with TF32 it would be half of fp16 on NVIDIA's.
    assert peaks["fp32"] <= 0.51 * peaks["fp16"]


@pytest.mark.parametrize("name", gpu_names())
def test_formats_that_a_generation_has(name: str) -> None:
    peaks = preset_data(name)["device"]["peak_flop_per_s"]
    assert peaks.keys() - {*Precision} == OTHER_FORMATS[next(chip for chip in OTHER_FORMATS if name in CHIPS[chip])]
    assert list(peaks) == [name for name in NumberFormat if name in peaks], "in one order in every preset"


@pytest.mark.parametrize("name", gpu_names())
def test_peaks_of_formats_are_in_proportion(name: str) -> None:
    """A format of half the bits has twice the rate of the other, dense and with fp32 accumulation as bf16."""
    peaks = preset_data(name)["device"]["peak_flop_per_s"]
    # NVIDIA prints 733 for L40S in fp8, twice of 366.5, beside 362 in bf16.
    near_frac = 0.03 if name == "l40s" else 0.01
    if "tf32" in peaks:
        assert peaks["tf32"] == pytest.approx(peaks["bf16"] / 2, rel=near_frac)
    if "fp8" in peaks:
        assert peaks["fp8"] == pytest.approx(2 * peaks["bf16"], rel=near_frac)
    # GeForce halves bf16 and fp8 with fp32 accumulation, not fp4; Blackwell Ultra has more units for fp4.
    if "fp4" in peaks and name not in {"b300", "gb300"}:
        assert peaks["fp4"] == pytest.approx((8 if name == "rtx-5090" else 4) * peaks["bf16"], rel=near_frac)


def test_blackwell_ultra_gave_up_int8_for_fp4() -> None:
    for name, fp4_pflops, int8_tops in (("b300", 14, 153.5), ("gb300", 15, 165)):
        peaks = preset_data(name)["device"]["peak_flop_per_s"]
        assert (peaks["fp4"], peaks["int8"]) == (fp4_pflops * 1e15, int8_tops * 1e12)


@pytest.mark.parametrize(("name", "sparse_tflops"), SPARSE_TFLOPS.items())
def test_peaks_are_dense(name: str, sparse_tflops: float) -> None:
    # NVIDIA rounds both figures of L40S: 362 and 733.
    assert preset_data(name)["device"]["peak_flop_per_s"]["bf16"] == pytest.approx(sparse_tflops * 1e12 / 2, rel=0.015)


def test_shares_of_the_peak_that_nobody_measured_are_named() -> None:
    cluster = load_cluster("l4", 8)
    assert cluster.spec.device.gemm_efficiency_frac == 0.75
    assert "gemm_efficiency_frac of NVIDIA L4 is assumed to be 0.75: nobody measured it." in cluster.assumptions
    assert "gemm_efficiency_frac" not in cluster.spec.device.sources


def test_a_figure_that_nobody_published_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    data = copy.deepcopy(device_data("h20"))
    data["mem_bandwidth_bytes_per_s"] = None
    del data["sources"]["mem_bandwidth_bytes_per_s"]
    monkeypatch.setattr(devices, "device_data", lambda _name: data)
    with pytest.raises(BadInputError, match="nobody published mem_bandwidth_bytes_per_s of NVIDIA H20; give it beside"):
        read_device("h20", "file")
    device, _ = read_device({"preset": "h20", "mem_bandwidth_bytes_per_s": 4e12}, "file")
    assert device.mem_bandwidth_bytes_per_s == 4e12


def test_a_figure_of_ones_own_has_no_published_source() -> None:
    device, _ = read_device({"preset": "h100-sxm", "power_w": 500}, "file")
    assert device.power_w == 500
    assert device.sources["power_w"] == devices.STATED
    assert device.sources["memory_bytes"] == "nvidia-smi listings in public logs"


def test_figures_that_are_assumed_are_told_from_the_others() -> None:
    shares = ("gemm_efficiency_frac", "attention_efficiency_frac")
    assert read_device("l4", "file")[0].assumed_figures == shares
    assert read_device({"preset": "l4", "gemm_efficiency_frac": 0.7}, "file")[0].assumed_figures == shares[1:]
    assert read_device("h100-sxm", "file")[0].assumed_figures == ()
    own = {"name": "Mine", "kind": "cuda", "peak_flop_per_s": {"bf16": 1e14}, "memory_bytes": 2**34}
    own |= {"mem_bandwidth_bytes_per_s": 1e12}
    assert read_device(own, "file")[0].assumed_figures == shares
    # Without a source every figure of a whole device is assumed.
    whole = read_device({**own, "gemm_efficiency_frac": 0.7, "attention_efficiency_frac": 0.5}, "file")[0]
    assert (whole.source, whole.sources, whole.assumed_figures) == (Source.ASSUMED, {}, ())


@pytest.mark.parametrize("name", gpu_names())
def test_a_preset_assumes_the_shares_of_its_peak_alone(name: str) -> None:
    device = load_cluster(name, 1).spec.device
    assert set(device.assumed_figures) <= {"gemm_efficiency_frac", "attention_efficiency_frac"}
    assert (device.source is Source.ASSUMED) == bool(device.assumed_figures)


def test_a_source_of_nothing_is_refused() -> None:
    device = load_cluster("l4", 1).spec.device
    data = device.model_dump() | {"sources": {"colour": "a data sheet"}}
    with pytest.raises(BadInputError, match="sources names 'colour', which is no figure"):
        Device.from_data(data, "device")


# Adapters x line rate x 0.8 / GPUs of a machine: DGX H100 8 x 50 x 0.8 / 8 = 40; p4d 4 x 12.5 x 0.8 / 8 = 5;
# p5 32 x 12.5 x 0.8 / 8 = 40; NC A100 1 x 10 x 0.8 / 4 = 2; a3-highgpu 4 x 25 x 0.8 / 8 = 10.
@pytest.mark.parametrize(
    ("name", "link", "gbytes_per_s", "hop_us"),
    [
        ("dgx-h100", LinkKind.INFINIBAND, 40, 14),
        ("p4d.24xlarge", LinkKind.EFA, 5, 82),
        ("p5.48xlarge", LinkKind.EFA, 40, 37),
        ("nc-a100-v4", LinkKind.ETHERNET, 2, 50),
        ("a3-highgpu-8g", LinkKind.ETHERNET, 10, 50),
        ("a3-ultragpu-8g", LinkKind.ROCE, 40, 46),
    ],
)
def test_links_between_machines_follow_from_their_adapters(
    name: str, link: LinkKind, gbytes_per_s: float, hop_us: float
) -> None:
    network = load_cluster(name, 64).spec.tiers[-1]
    assert network.link is link
    assert network.bandwidth_bytes_per_s == pytest.approx(gbytes_per_s * 1e9)
    assert network.latency_s == pytest.approx(hop_us * 1e-6)


@pytest.mark.parametrize("name", machine_names())
def test_a_machine_says_where_its_figures_and_its_price_come_from(name: str) -> None:
    data = preset_data(name)
    assert data["note"]
    assert ("price_usd_per_device_hour" in data) == ("Price:" in data["note"] and "prices change" in data["note"])
    # The first file of a GPU holds series inside a machine, a second one those over its usual network.
    usual = preset_data(data["device"]).get("collectives", [])[:1]
    assert data.get("collectives", [])[: len(usual)] == usual, "what was published of its GPUs counts for it as well"


def test_a_dgx_is_the_usual_node_of_its_gpu() -> None:
    for machine, gpu in (("dgx-h100", "h100-sxm"), ("dgx-a100", "a100-sxm-80gb"), ("dgx-1-v100", "v100-sxm-32gb")):
        one, other = load_cluster(machine, 24).spec, load_cluster(gpu, 24).spec
        assert one.device == other.device
        assert one.tables == other.tables
        for tier, usual in zip(one.tiers, other.tiers, strict=True):
            assert tier.bandwidth_bytes_per_s == usual.bandwidth_bytes_per_s
            assert (tier.num_devices, tier.link, tier.latency_s) == (usual.num_devices, usual.link, usual.latency_s)


def sizes(name: str, num_gpus: int) -> list[tuple[str, int]]:
    return [(tier.name, tier.num_devices) for tier in load_cluster(name, num_gpus).spec.tiers]


@pytest.mark.parametrize("name", ["gb200", "gb200-nvl72"])
def test_a_rack_of_trays_is_one_nvlink_domain(name: str) -> None:
    assert load_cluster(name, 144).spec.node_sizes == (4,) * 36
    assert sizes(name, 144) == [("rack", 72), ("network", 144)]
    assert sizes(name, 64) == [("rack", 64)]


def test_pairs_that_are_bridged_stay_pairs_in_a_smaller_machine() -> None:
    assert sizes("h100-nvl", 16) == [("pair", 2), ("node", 8), ("network", 16)]
    assert sizes("nc-h100-v5", 16) == [("pair", 2), ("network", 16)]


def test_a_mesh_that_is_cut_keeps_the_links_to_the_peers_left() -> None:
    # Eight MI300X reach 313 GB/s over seven links each, two over one of them: 313 / 7 = 44.7 (published: 47.7).
    assert load_cluster("mi300x", 8).spec.tiers[0].bandwidth_bytes_per_s == 313e9
    assert load_cluster("mi300x", 2).spec.tiers[0].bandwidth_bytes_per_s == pytest.approx(44.7e9, rel=1e-3)
    # A last machine that holds four takes nothing from the others.
    assert load_cluster("nd-mi300x-v5", 12).spec.tiers[0].bandwidth_bytes_per_s == 313e9


def test_a_file_may_take_the_device_of_a_machine(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text("device: p5.48xlarge\ndevices_per_node: 4\n")
    spec = load_cluster(str(path), 8).spec
    assert spec.device.name == "NVIDIA H100 80GB HBM3"
    assert Precision.BF16 in spec.device.peak_flop_per_s
    assert [(tier.num_devices, tier.link) for tier in spec.tiers] == [(4, LinkKind.NVLINK), (8, LinkKind.EFA)]


def test_the_page_shows_the_presets() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page_with_tables(page) == page, "run: python -m tests.clusters.preset_table"


@pytest.mark.parametrize(
    ("name", "num_ranks", "stride", "gb_per_s"),
    [
        # Four links of 20 GB/s lead to three peers of the half: 80 / 3 to one, all 80 among the four.
        ("v100-sxm-32gb", 2, 1, 80 / 3),
        ("v100-sxm-32gb", 4, 1, 80),
        # Two links lead to one GPU of the other half.
        ("dgx-1-v100", 2, 4, 40),
        ("p3.16xlarge", 8, 1, 80),
        # Four links of 37.3 GB/s join the dies of a card, three a die and those of the other cards.
        ("mi250x", 2, 1, 149),
        ("mi250x", 2, 2, 112 / 7),
        ("mi250x", 4, 2, 112 * 3 / 7),
        ("mi250x", 8, 1, 149),
    ],
)
def test_few_devices_of_a_node_share_few_of_its_links(name: str, num_ranks: int, stride: int, gb_per_s: float) -> None:
    (crossed,) = crossings(load_cluster(name, 8).spec, num_ranks, stride)
    assert min(crossing.bandwidth_bytes_per_s for crossing in crossed) == pytest.approx(gb_per_s * 1e9)
