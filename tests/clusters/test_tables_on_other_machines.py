"""Measured collectives speak for groups that lie as theirs did, whatever the machines of the cluster are."""

from __future__ import annotations

from pathlib import Path

import pytest

from costmodel.collectives import by_formula, tables
from costmodel.errors import BadInputError
from costmodel.spec import Collective, LinkKind
from planner.clusters.read import LoadedCluster, load_cluster

ALL_REDUCE = Collective.ALL_REDUCE
HEADER = "collective,num_ranks,num_nodes,bytes,time_us\n"
SITES = "wan: {bandwidth_bytes_per_s: 1 Gbit/s, latency_s: 30 ms}\n"


def load(folder: Path, text: str, *rows: str) -> LoadedCluster:
    """A cluster file beside `own.csv`, which holds `rows`."""
    (folder / "own.csv").write_text(HEADER + "".join(f"{row}\n" for row in rows), encoding="utf-8")
    (folder / "cluster.yaml").write_text(text, encoding="utf-8")
    return load_cluster(str(folder / "cluster.yaml"), None)


def machines(*sizes: int, device: str = "h100-sxm", sites: str = "") -> str:
    entries = (
        f"{{num_nodes: 1, device: {device}, num_devices: {size}{f', site: {sites[place]}' if sites else ''}}}"
        for place, size in enumerate(sizes)
    )
    return f"nodes: [{', '.join(entries)}]\n" + (SITES if sites else "")


@pytest.mark.parametrize(
    "text",
    [
        machines(4, 4, sites="ab"),
        machines(*[1] * 8),
        "device: h100-sxm\ndevices_per_node: 4\nnum_nodes: 2\n",
        "device: h100-sxm\ndevices_per_node: 2\nnum_nodes: 4\n",
        "device: a3-megagpu-8g\nnum_devices: 24\ndevices_per_node: 6\n",
    ],
)
def test_times_inside_a_machine_price_no_group_over_several(tmp_path: Path, text: str) -> None:
    spec = load(tmp_path, text).spec
    assert tables.lookup(spec, ALL_REDUCE, 8, 1, 10**8) is None


def test_ranks_of_smaller_machines_are_corrected_by_those_of_larger_ones(tmp_path: Path) -> None:
    spec = load(tmp_path, "device: h100-sxm\ndevices_per_node: 4\nnum_nodes: 2\n").spec
    found = tables.lookup(spec, ALL_REDUCE, 4, 1, 10**8)
    assert found is not None
    assert found.time_s == tables.lookup(load_cluster("h100-sxm", 8).spec, ALL_REDUCE, 4, 1, 10**8).time_s  # type: ignore[union-attr]


@pytest.mark.parametrize("device", ["a100-sxm-40gb", "l40s", "v100-sxm-32gb"])
def test_ones_own_times_are_held_against_ones_own_machines(tmp_path: Path, device: str) -> None:
    text = f"device: {device}\ndevices_per_node: 4\nnum_nodes: 4\ncollectives: [own.csv]\n"
    loaded = load(tmp_path, text, "all_reduce,16,4,104857600,50000")
    assert "Measured times of one's own price all_reduce over 16 ranks on 4 machines." in loaded.assumptions
    if device == "a100-sxm-40gb":  # The others have tiers inside a machine, whose ring is laid out all the same.
        assert tables.lookup(loaded.spec, ALL_REDUCE, 16, 1, 104857600).time_s == 0.05  # type: ignore[union-attr]
    loaded = load(tmp_path, text, "all_reduce,8,1,104857600,5000")
    assert any("8 ranks on 1 machine, but those of this cluster hold 4 each" in said for said in loaded.assumptions)


@pytest.mark.parametrize("sizes", [(4, 8), (6, 8), (4, 8, 8)])
def test_groups_over_unequal_machines_are_none_that_was_measured(tmp_path: Path, sizes: tuple[int, ...]) -> None:
    text = f"{machines(*sizes)}collectives: [own.csv]\n"
    rows = ("all_reduce,8,1,1073741824,4000", "all_reduce,16,2,1073741824,8000")
    spec = load(tmp_path, text, *rows).spec
    for num_ranks in (8, 16):
        if num_ranks <= spec.num_devices:
            assert tables.lookup(spec, ALL_REDUCE, num_ranks, 1, 2**30) is None


def test_ones_own_times_between_machines_are_none_of_a_link_between_sites(tmp_path: Path) -> None:
    loaded = load(tmp_path, f"{machines(8, 8, sites='ab')}collectives: [own.csv]\n", "all_reduce,16,2,1048576,80")
    assert tables.lookup(loaded.spec, ALL_REDUCE, 16, 1, 2**20) is None


def test_the_nvlinks_of_a_topology_count(tmp_path: Path) -> None:
    def of_pair(links: str) -> LoadedCluster:
        (tmp_path / "topo.txt").write_text(f"\tGPU0\tGPU1\nGPU0\tX\t{links}\nGPU1\t{links}\tX\n", encoding="utf-8")
        return load(tmp_path, "device: h100-sxm\ntopology: topo.txt\nnum_nodes: 1\n")

    # Six of a board of four, at 20.6 GB/s each; all 18 are the switch that the preset was measured on.
    assert of_pair("NV6").spec.tiers[0].bandwidth_bytes_per_s == pytest.approx(6 * 20.6e9)
    assert of_pair("NV6").spec.tables == ()
    assert of_pair("NV18").spec.tiers[0].bandwidth_bytes_per_s == 315e9
    with pytest.raises(BadInputError, match=r"shows 20 links between two GPUs, but NVIDIA H100 80GB HBM3 has 18"):
        of_pair("NV20")


def test_a_gpu_takes_no_more_of_the_adapters_than_its_slot(tmp_path: Path) -> None:
    spec = load(tmp_path, "device: p5.48xlarge\ndevices_per_node: 1\nnum_nodes: 4\n").spec
    assert spec.tiers[-1].bandwidth_bytes_per_s == 63e9


def test_unlike_adapters_are_as_slow_as_the_slowest_in_everything(tmp_path: Path) -> None:
    def joined(rate: int) -> LoadedCluster:
        entries = ", ".join(
            f"{{device: h100-sxm, num_devices: 8, num_nodes: 2, "
            f"nics: {{count: 8, bandwidth_bytes_per_s: {speed} Gbit/s, link: {link}}}}}"
            for link, speed in (("ethernet", 100), ("infiniband", rate))
        )
        return load(tmp_path, f"nodes: [{entries}]\n")

    faster, slower = joined(100).spec.tiers[-1], joined(90).spec.tiers[-1]
    assert (faster.link, slower.link) == (LinkKind.ETHERNET, LinkKind.ETHERNET)
    assert slower.latency_s == faster.latency_s == 50e-6
    assert slower.bandwidth_bytes_per_s == pytest.approx(0.9 * faster.bandwidth_bytes_per_s)


def test_no_algorithm_crosses_a_wide_area_link_in_less_than_its_latency(tmp_path: Path) -> None:
    wan = "wan: {bandwidth_bytes_per_s: 100 Gbit/s, latency_s: 30 ms}\n"
    spec = load(tmp_path, machines(8, 8, sites="ab").partition("wan")[0] + wan).spec
    assert by_formula(spec, ALL_REDUCE, 16, 1, 1000).time_s >= 60e-3
    assert by_formula(spec, Collective.ALL_GATHER, 16, 1, 1000).time_s >= 30e-3


def test_large_messages_say_little_of_small_ones() -> None:
    # The series over 20 racks starts at 512 MiB, where it is three times the model.
    spec = load_cluster("gb200-nvl72", 144).spec
    small = tables.lookup(spec, ALL_REDUCE, 144, 1, 10**5)
    assert small is not None
    assert small.time_s == pytest.approx(by_formula(spec, ALL_REDUCE, 144, 1, 10**5).time_s, rel=1e-3)
