"""Keys of a cluster file that overrule or contradict one another, and machines that cannot be one cluster."""

from __future__ import annotations

from pathlib import Path

import pytest
from written_cluster import load

from costmodel.collectives import by_formula, tables
from costmodel.errors import BadInputError
from costmodel.spec import Collective, Device
from planner.clusters.presets import gpu_names
from planner.clusters.read import load_cluster

NODE = "{name: node, num_devices: 8, link: nvlink, bandwidth_bytes_per_s: 300 GB/s, latency_s: 3 us}"
OUTER = "{name: network, num_devices: 16, link: roce, bandwidth_bytes_per_s: 20 GB/s, latency_s: 14 us}"
TIERS = f"device: h100-sxm\nnum_nodes: 2\ntiers: [{NODE}, {OUTER}]\n"
LINK = "bandwidth_bytes_per_s: 1 GB/s, latency_s: 5 us"
TOPOLOGY = Path(__file__).parent / "topology" / "h100x8_nv18_nvswitch_no_nics.txt"


def at_sites(*sites: str) -> str:
    machines = ", ".join(f"{{num_nodes: 1, device: h100-sxm, num_devices: 8, site: {site}}}" for site in sites)
    return f"nodes: [{machines}]\nwan: {{{LINK}}}\n"


def of_devices(*devices: str) -> str:
    machines = ", ".join(f"{{num_nodes: 1, device: {device}, num_devices: 8}}" for device in devices)
    return f"nodes: [{machines}]\nnetwork: {{link: roce, {LINK}}}\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{TIERS}network: {{link: roce, {LINK}}}\n", "network stands beside tiers"),
        (f"{TIERS}wan: {{{LINK}}}\n", "wan stands beside tiers"),
        (f"device: h100-sxm\nnum_nodes: 4\nwan: {{{LINK}}}\n", "wan joins sites, but all machines stand at one"),
        (at_sites("paris", "paris"), "wan joins sites, but all machines stand at one"),
        (at_sites("paris", "rome", "paris"), "list the machines of a site together"),
        (
            f"device: h100-sxm\nnum_nodes: 2\nnetwork: {{name: node, link: roce, {LINK}}}\n",
            "two tiers are called 'node'",
        ),
        (TIERS.replace("name: network", "name: node"), "two tiers are called 'node'; give each a name of its own"),
        (f"device: h100-sxm\nnum_nodes: 1\nnetwork: {{link: pcie, {LINK}}}\n", "network.link is 'pcie'"),
        (of_devices("h100-sxm", "mi300x"), "GPUs of NVIDIA and AMD cannot train together"),
        (of_devices("mi300x", "t4"), "GPUs of AMD and NVIDIA cannot train together"),
    ],
)
def test_what_contradicts_itself_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(BadInputError) as refusal:
        load(tmp_path, text)
    assert words in str(refusal.value)


def test_nvlink_may_join_machines_of_a_rack(tmp_path: Path) -> None:
    rack = OUTER.replace("network", "rack").replace("roce", "nvlink")
    spec = load(tmp_path, f"device: h100-sxm\nnum_nodes: 2\ntiers: [{NODE}, {rack}]\n").spec
    assert [tier.link.value for tier in spec.tiers] == ["nvlink", "nvlink"]


def test_adapters_are_facts_of_a_machine_beside_tiers(tmp_path: Path) -> None:
    loaded = load(tmp_path, f"{TIERS}nics: {{count: 8, bandwidth_bytes_per_s: 400 Gbit/s, link: roce}}\n")
    assert loaded.spec.tiers[-1].bandwidth_bytes_per_s == 20e9
    assert loaded.spec.nodes[0].node.nics is not None


def test_a_part_at_one_site_needs_no_wide_area_network(tmp_path: Path) -> None:
    assert [tier.name for tier in load(tmp_path, at_sites("paris", "rome"), 8).spec.tiers] == ["node"]


def test_a_part_of_one_maker_is_a_cluster(tmp_path: Path) -> None:
    assert load(tmp_path, of_devices("h100-sxm", "mi300x"), 8).spec.device.maker == "NVIDIA"


def test_what_prices_nothing_is_said(tmp_path: Path) -> None:
    (tmp_path / "topo.txt").write_text(TOPOLOGY.read_text(encoding="utf-8"), encoding="utf-8")
    said = load(tmp_path, f"{TIERS}topology: topo.txt\n").assumptions
    assert "Links are priced as tiers state them; the topology prices none." in said
    said = load(tmp_path, f"device: h100-sxm\nnum_nodes: 1\nnetwork: {{link: roce, {LINK}}}\n").assumptions
    assert "There is one machine, so network prices nothing." in said


@pytest.mark.parametrize("name", gpu_names())
def test_the_name_that_a_driver_reports_says_the_maker(name: str) -> None:
    device: Device = load_cluster(name, 1).spec.device
    assert device.maker == ("AMD" if name.startswith("mi") else "NVIDIA")
    assert device.model_copy(update={"name": "Mine"}).maker is None


def test_machines_that_a_number_of_gpus_leaves_idle_are_said(tmp_path: Path) -> None:
    machines = (
        "nodes: [{num_nodes: 2, device: a100-sxm-80gb, num_devices: 8}, {num_nodes: 2, device: h100-sxm, "
        "num_devices: 8}]\n"
    )
    end = " x NVIDIA H100 80GB HBM3, since ranks fill the machines in the order of the file."
    assert f"Not used: 2 machines of 8{end}" in load(tmp_path, machines, 16).assumptions
    assert f"Not used: 1 machine of 8{end}" in load(tmp_path, machines, 20).assumptions
    assert not any("Not used" in said for said in load(tmp_path, machines, 32).assumptions)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("device: h100-sxm\nnum_nodes: 2\n", "num_nodes"),
        ("device: h100-sxm\nnum_devices: 16\n", "num_devices"),
        ("nodes: [{num_nodes: 2, device: h100-sxm, num_devices: 8}]\n", "num_nodes"),
    ],
)
def test_more_gpus_than_there_are_lead_to_the_key_that_says_how_many(tmp_path: Path, text: str, key: str) -> None:
    with pytest.raises(BadInputError, match=f"has 16 devices, but 64 are asked for; raise its {key} or ask for fewer"):
        load(tmp_path, text, 64)


@pytest.mark.parametrize(
    ("name", "what", "line"),
    [
        ("topology/h100x8_nv18_nvswitch_no_nics.txt", "the output of nvidia-smi topo -m", "topology: given.txt"),
        ("topology/mi250_8gcd_rocm-smi_showtopotype.txt", "the output of rocm-smi", "topology: given.txt"),
        ("nccl_tests/h100_1n8g_dgxc_allreduce_8B-16GiB.txt", "an output of nccl-tests", "collectives: [given.txt]"),
    ],
)
def test_what_a_cluster_file_names_is_no_cluster_file(tmp_path: Path, name: str, what: str, line: str) -> None:
    path = tmp_path / "given.txt"
    path.write_text((Path(__file__).parent / name).read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(BadInputError) as refusal:
        load_cluster(str(path), 8)
    said = str(refusal.value)
    assert f"given.txt: is {what}" in said
    assert f"with the lines `device: NAME` (a GPU of `planner clusters`) and `{line}`" in said


def test_a_csv_of_collectives_is_no_cluster_file(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("# of ours\ncollective,num_ranks,num_nodes,bytes,time_us\n")
    with pytest.raises(BadInputError, match=r"is a CSV of measured collectives.*`collectives: \[own\.csv\]`"):
        load_cluster(str(tmp_path / "own.csv"), 8)


@pytest.mark.parametrize("name", ["gb200", "gb200-nvl72", "gb300-nvl72"])
def test_without_a_number_of_gpus_two_racks_are_taken(name: str) -> None:
    spec = load_cluster(name, None).spec
    assert [(tier.name, tier.num_devices) for tier in spec.tiers] == [("rack", 72), ("network", 144)]
    assert spec.node_sizes == (4,) * 36


@pytest.mark.parametrize("tiers", ["5", "x", "[5]", "[[]]", "[]", "{name: node}"])
def test_tiers_that_are_no_list_of_links_are_refused(tmp_path: Path, tiers: str) -> None:
    for machines in ("device: h100-sxm\nnum_nodes: 2\n", at_sites("paris").partition("wan")[0]):
        with pytest.raises(BadInputError, match="tiers must be a list of links from the innermost to the outermost"):
            load(tmp_path, f"{machines}tiers: {tiers}\n")


@pytest.mark.parametrize(
    ("given", "instead"),
    [("link: nvlink", "link: nvlnk"), ("latency_s: 3 us", "latency_s: []"), ("name: node, ", "is_mesh: 5, ")],
)
def test_a_faulty_tier_is_named_by_file_and_place(tmp_path: Path, given: str, instead: str) -> None:
    with pytest.raises(BadInputError, match=r"cluster file .*cluster\.yaml: tiers\.0"):
        load(tmp_path, TIERS.replace(given, instead, 1))


def test_what_prices_nothing_between_machines_is_said(tmp_path: Path) -> None:
    nics = "nics: {count: 8, bandwidth_bytes_per_s: 400 Gbit/s, link: infiniband}"
    network = f"network: {{link: ethernet, {LINK}}}"
    loaded = load(tmp_path, f"device: h100-sxm\nnum_nodes: 2\n{nics}\n{network}\n")
    assert "Links between machines are priced as network states them; nics price none." in loaded.assumptions
    loaded = load(tmp_path, f"{at_sites('paris', 'rome')}{network}\n")
    assert "There is one machine at each site, so network prices nothing." in loaded.assumptions


def test_times_between_published_machines_say_nothing_of_a_link_between_sites(tmp_path: Path) -> None:
    sites = ", ".join(f"{{device: p4de.24xlarge, num_nodes: 1, site: {site}}}" for site in "ab")
    spec = load(tmp_path, f"nodes: [{sites}]\nwan: {{bandwidth_bytes_per_s: 1 Gbit/s, latency_s: 50 ms}}\n").spec
    assert {table.num_nodes for table in spec.tables} == {1}
    asked = (spec, Collective.ALL_REDUCE, 16, 1, 2**30)
    # 1 GiB over the 1 Gbit/s that 8 GPUs of a site share: of two machines each byte crosses once each way: 8.6 s.
    assert (tables.lookup(*asked) or by_formula(*asked)).time_s > 8.6


def test_a_topology_that_says_the_links_of_the_preset_keeps_what_was_measured_over_them(tmp_path: Path) -> None:
    published = load(tmp_path, "device: h100-sxm\nnum_nodes: 1\n").spec
    (tmp_path / "topo.txt").write_bytes(TOPOLOGY.read_bytes())
    same = load(tmp_path, "device: h100-sxm\nnum_nodes: 1\ntopology: topo.txt\n").spec
    assert (same.tiers, same.tables) == (published.tiers, published.tables)
    pairs = Path(__file__).parent / "topology" / "gh200x4_nv6_multi_numa_gpu_numa_id.txt"
    (tmp_path / "pairs.txt").write_bytes(pairs.read_bytes())
    other = load(tmp_path, "device: h100-sxm\nnum_nodes: 1\ntopology: pairs.txt\n")
    assert other.spec.tables == ()
    assert any(said.startswith("Published times of h100-sxm price nothing") for said in other.assumptions)


def test_a_link_with_a_note_of_ones_own_is_stated_not_assumed(tmp_path: Path) -> None:
    loaded = load(tmp_path, f"device: h100-sxm\nnum_nodes: 2\nnetwork: {{link: roce, {LINK}, note: iperf}}\n")
    assert any(said.startswith("Stated in the file without a source") for said in loaded.assumptions)
    assert not any(said.startswith("Assumed") for said in loaded.assumptions)
    assert loaded.spec.tiers[-1].note == "iperf"


def test_a_large_yaml_says_how_to_write_it(tmp_path: Path) -> None:
    machines = "\n".join(f"- {{device: h100-sxm, num_nodes: 1, num_devices: 8}}  # {number}" for number in range(900))
    with pytest.raises(BadInputError, match="write equal machines as one entry of nodes with num_nodes"):
        load(tmp_path, f"nodes:\n{machines}\n")


@pytest.mark.parametrize(
    "text",
    [
        f"device: h100-sxm\n{'x' * 900}: true\n",
        f"device: h100-sxm\nnum_devices{'x' * 900}: 1e40\n",
        f"device: {{preset: h100-sxm, peak_flop_per_s: {{{'x' * 500}: 1e14}}}}\n",
        f"device: h100-sxm\ntopology: {'x' * 5000}\n",
    ],
)
def test_keys_and_names_of_any_length_are_cut(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadInputError, match=r"xxx\.\.\.") as caught:
        load(tmp_path, text)
    assert len(str(caught.value)) < 700
