"""What joins machines and sites where a file says it in part: adapters of some machines, pipes of sites, no source."""

from __future__ import annotations

from pathlib import Path

import pytest
from written_cluster import load

from costmodel.errors import BadInputError
from costmodel.spec import Source
from planner.clusters.links import shares_adapters
from planner.clusters.presets import gpu_names
from planner.clusters.read import LoadedCluster, load_cluster

OWN = (
    "{name: Mine, kind: cuda, peak_flop_per_s: {bf16: 1 TFLOP/s}, memory_bytes: 8 GiB, mem_bandwidth_bytes_per_s: "
    "1 TB/s}"
)


def nodes(*entries: str) -> str:
    return "nodes:\n" + "".join(f"  - {{num_nodes: 1, {entry}}}\n" for entry in entries)


def network_gb_per_s(loaded: LoadedCluster) -> float:
    (tier,) = [tier for tier in loaded.spec.tiers if tier.name == "network"]
    return round(tier.bandwidth_bytes_per_s / 1e9, 4)


@pytest.mark.parametrize(
    ("nics", "expected"),
    [
        ("{count: 1, bandwidth_bytes_per_s: 100 Gbit/s, link: roce}", 1.25),  # 12.5 GB/s x 0.8 / 8
        ("{count: 8, bandwidth_bytes_per_s: 800 Gbit/s, link: roce}", 40),  # the other's: 50 GB/s x 0.8
    ],
)
def test_adapters_of_some_machines_bound_the_network(tmp_path: Path, nics: str, expected: float) -> None:
    machine = "device: h100-sxm, num_devices: 8"
    assert network_gb_per_s(load(tmp_path, nodes(f"{machine}, nics: {nics}", machine))) == expected
    assert network_gb_per_s(load(tmp_path, nodes(machine, f"{machine}, nics: {nics}"))) == expected


def test_machines_of_which_nobody_says_how_they_are_joined_are_named(tmp_path: Path) -> None:
    own = f"device: {OWN}, num_devices: 1"
    with pytest.raises(BadInputError, match="nothing says how machines of Mine are joined; state network or nics"):
        load(tmp_path, nodes("device: h100-sxm, num_devices: 8", own))


@pytest.mark.parametrize(
    ("device", "size", "expected"),
    [
        ("l4", 8, 1.25),  # 12.5 GB/s x 0.8 / 8
        ("l4", 1, 10),
        ("l4", 4, 2.5),
        ("l40s", 2, 20),  # four adapters of 12.5 GB/s x 0.8 / 2
        ("h100-sxm", 4, 40),  # 50 GB/s x 0.8: one each
    ],
)
def test_adapters_of_a_machine_are_shared_by_as_many_gpus_as_it_has(
    tmp_path: Path, device: str, size: int, expected: float
) -> None:
    assert network_gb_per_s(load(tmp_path, f"device: {device}\ndevices_per_node: {size}\n", 2 * size)) == expected


def test_every_preset_says_whose_its_adapters_are() -> None:
    shared = set()
    for name in gpu_names():
        network = next(tier for tier in load_cluster(name, 256).spec.tiers if tier.link.is_network)
        assert ("per node of" in network.note) != ("per GPU" in network.note), name
        shared |= {name} if shares_adapters(network) else set()
    assert {"l4", "t4", "l40s", "v100-sxm-32gb"} <= shared
    assert not shared & {"h100-sxm", "gb200", "mi300x", "h100-nvl"}


def test_the_devices_of_a_site_share_its_pipe(tmp_path: Path) -> None:
    """10 Gbit/s are 1.25 GB/s: of 16 GPUs each has 78.125 MB/s, of the 8 at the other site twice that."""
    text = (
        "nodes: [{num_nodes: 2, device: h100-sxm, site: a}, {num_nodes: 1, device: h100-sxm, site: b}]\n"
        "wan: {bandwidth_bytes_per_s: 10 Gbit/s, latency_s: 5 ms}\n"
    )
    wan = load(tmp_path, text).spec.tiers[-1]
    assert (wan.name, wan.bandwidth_bytes_per_s) == ("wan", 78.125e6)
    assert "1.25 GB/s of a site, shared by the 16 GPUs of the largest" in wan.note


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ("", "Stated in the file without a source, so priced as assumed: link 'network'"),
        (", source: assumed", "Assumed: link 'network' (10 GB/s per GPU)"),
        (", source: measured", ""),
        (", source: analytic", ""),
    ],
)
def test_a_link_that_is_stated_is_told_from_one_that_is_assumed(tmp_path: Path, stated: str, said: str) -> None:
    network = f"network: {{link: roce, bandwidth_bytes_per_s: 10 GB/s, latency_s: 10 us{stated}}}\n"
    loaded = load(tmp_path, f"device: h100-sxm\nnum_nodes: 2\n{network}")
    tier = loaded.spec.tiers[-1]
    assert tier.source is (Source(stated.rpartition(" ")[2]) if stated else Source.ASSUMED)
    sentences = [sentence for sentence in loaded.assumptions if "'network'" in sentence]
    assert [sentence.startswith(said) for sentence in sentences] == ([True] if said else [])
