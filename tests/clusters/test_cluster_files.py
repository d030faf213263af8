"""Cluster files of a few lines: what is derived, from what, and what has to be said."""

from __future__ import annotations

from pathlib import Path

import pytest
from written_cluster import load

from costmodel.errors import BadInputError
from costmodel.spec import ClusterSpec, LinkKind, Precision
from planner.clusters.read import LoadedCluster, load_cluster

FILES = Path(__file__).parent / "files"
SAMPLES = Path(__file__).parent / "topology"
NO_ADAPTERS = [link.value for link in LinkKind if not link.is_network] + ["wan"]
TWO_SITES = (
    "nodes: [{num_nodes: 1, device: h100-sxm, num_devices: 8, site: a}, "
    "{num_nodes: 1, device: h100-sxm, num_devices: 8, site: b}]\n"
)
RATES = "name: of our own, pcie_bytes_per_s: 31 GB/s, peer_link_bytes_per_s: 20 GB/s"


def with_topology(folder: Path, sample: str, device: str = "a100-pcie-80gb", more: str = "") -> ClusterSpec:
    (folder / "topo.txt").write_text((SAMPLES / sample).read_text(encoding="utf-8"), encoding="utf-8")
    return load(folder, f"device: {{preset: {device}, {RATES}}}\ntopology: topo.txt\nnum_nodes: 1\n{more}").spec


def tiers(spec: ClusterSpec) -> list[tuple[str, tuple[int, ...], str, float]]:
    """(name, sizes of the units, link, GB/s) of every tier."""
    return [
        (tier.name, tier.sizes(spec.num_devices), tier.link.value, round(tier.bandwidth_bytes_per_s / 1e9, 2))
        for tier in spec.tiers
    ]


@pytest.mark.parametrize("path", sorted(FILES.glob("*.yaml")), ids=lambda path: path.stem)
@pytest.mark.parametrize("num_gpus", [1, 5, 8, None])
def test_every_sample_serves_any_number_of_gpus_that_it_has(path: Path, num_gpus: int | None) -> None:
    whole = load_cluster(str(path), None).spec
    if num_gpus is not None and num_gpus > whole.num_devices:
        with pytest.raises(BadInputError, match=f"has {whole.num_devices} devices, but {num_gpus} are asked for"):
            load_cluster(str(path), num_gpus)
        return
    spec = load_cluster(str(path), num_gpus).spec
    assert sum(spec.node_sizes) == spec.num_devices == (num_gpus or whole.num_devices)
    assert ClusterSpec.from_json(spec.to_json(), "again") == spec


def test_a_name_of_a_device_is_enough(tmp_path: Path) -> None:
    assert load(tmp_path, "device: h100-sxm\n", 64).spec.tiers == load_cluster("h100-sxm", 64).spec.tiers


def test_adapters_make_the_network(tmp_path: Path) -> None:
    spec = load(
        tmp_path,
        "device: h100-sxm\ndevices_per_node: 8\nnics: {count: 4, bandwidth_bytes_per_s: 200 Gbit/s, link: roce}\n",
        16,
    ).spec
    # 4 x 25 GB/s x 0.8, shared by 8 devices.
    assert tiers(spec)[-1] == ("network", (16,), "roce", 10.0)


def test_machines_of_two_kinds_are_priced_at_the_slowest_figures() -> None:
    loaded = load_cluster(str(FILES / "two_kinds.yaml"), None)
    spec, a100 = loaded.spec, load_cluster("a100-sxm-80gb", 1).spec.device
    assert spec.node_sizes == (8, 8, 4)
    assert spec.device.peak_flop_per_s[Precision.BF16] == a100.peak_flop_per_s[Precision.BF16]
    assert spec.device.memory_limit_bytes == min(device.memory_limit_bytes for device in spec.devices)
    assert any("every rank is priced at the slowest figures" in sentence for sentence in loaded.assumptions)
    assert tiers(spec)[0][1] == (8, 8, 4)


def test_a_part_of_unequal_machines(tmp_path: Path) -> None:
    spec = load_cluster(str(FILES / "two_kinds.yaml"), 18).spec
    assert spec.node_sizes == (8, 8, 2)
    assert spec.tiers[0].sizes(18) == (8, 8, 2)
    assert load_cluster(str(FILES / "two_kinds.yaml"), 16).spec.devices == load_cluster("h100-sxm", 1).spec.devices


def test_sites_are_joined_by_a_wide_area_network() -> None:
    spec = load_cluster(str(FILES / "two_sites.yaml"), None).spec
    assert [(name, sizes, link) for name, sizes, link, _ in tiers(spec)] == [
        ("node", (8, 8, 8), "nvlink"),
        ("network", (16, 8), "infiniband"),
        ("wan", (24,), "wan"),
    ]
    assert spec.tiers[-1].latency_s == pytest.approx(12e-3)


def test_switches_and_sockets_become_tiers(tmp_path: Path) -> None:
    # GPU0 and 1 behind several bridges, 2 and 3 behind one, SYS between; 31 GB/s x 0.77, and x 0.5 across.
    spec = with_topology(tmp_path, "4gpu_pxb_pix_sys_acs_hang_tabs.txt")
    assert tiers(spec) == [("switch", (2, 2), "pcie", 23.87), ("node", (4,), "pcie", 15.5)]


def test_nvlink_pairs_are_islands_of_a_node(tmp_path: Path) -> None:
    spec = with_topology(tmp_path, "litgpt_4gpu_nv1_pairs_sys_SYNTHETIC.txt")
    assert tiers(spec) == [("island", (2, 2), "nvlink", 20.0), ("node", (4,), "pcie", 15.5)]


def test_a_switch_gives_every_pair_all_links(tmp_path: Path) -> None:
    spec = with_topology(tmp_path, "a100x8_nv12_nvswitch_no_nics.txt", "a100-sxm-80gb")
    assert tiers(spec) == [("node", (8,), "nvlink", 240.0)]  # 12 x 20 GB/s
    assert not spec.tiers[0].is_mesh


def test_links_of_a_mesh_lead_to_one_peer_each(tmp_path: Path) -> None:
    # Four GPUs, six links to each of three peers: 18 links a GPU in all, of which a pair shares six.
    spec = with_topology(tmp_path, "gh200x4_nv6_multi_numa_gpu_numa_id.txt", "h100-sxm")
    assert tiers(spec) == [("node", (4,), "nvlink", 360.0)]
    assert spec.tiers[0].is_mesh


def equal_pairs(folder: Path, num_gpus: int, links: str, device: str) -> LoadedCluster:
    """A machine whose tool says `links` of every pair of GPUs."""
    names = [f"GPU{gpu}" for gpu in range(num_gpus)]
    rows = [[name, *("X" if other == name else links for other in names)] for name in names]
    (folder / "topo.txt").write_text("\n".join("\t".join(row) for row in [["", *names], *rows]), encoding="utf-8")
    return load(folder, f"device: {{preset: {device}, {RATES}}}\ntopology: topo.txt\nnum_nodes: 1\n")


@pytest.mark.parametrize(
    ("num_gpus", "links", "device", "gb_per_s", "is_mesh"),
    [
        # Behind a switch each pair shows all links of a GPU, however few GPUs are visible: 8 x 20 GB/s and so on.
        (3, "NV8", "a800-sxm-80gb", 160, False),
        (2, "NV8", "a800-sxm-80gb", 160, False),
        (3, "NV8", "h800-sxm", 160, False),
        (2, "NV12", "a100-sxm-80gb", 240, False),
        (3, "NV12", "a100-sxm-80gb", 240, False),
        (3, "NV18", "h100-sxm", 360, False),
        (8, "NV6", "v100-sxm-32gb", 120, False),
        # Boards of four share their 12 and 18 links among three peers.
        (4, "NV4", "a100-sxm-40gb", 240, True),
        (4, "NV6", "h100-sxm", 360, True),
        (3, "NV2", "v100-sxm-16gb", 80, True),
    ],
)
def test_a_switch_is_told_from_a_mesh(
    tmp_path: Path, num_gpus: int, links: str, device: str, gb_per_s: float, is_mesh: bool
) -> None:
    loaded = equal_pairs(tmp_path, num_gpus, links, device)
    assert tiers(loaded.spec) == [("node", (num_gpus,), "nvlink", gb_per_s)]
    assert loaded.spec.tiers[0].is_mesh is is_mesh
    assert not any("in a DGX-2, state tiers" in said for said in loaded.assumptions)


def test_the_cube_of_a_dgx_1_is_a_mesh(tmp_path: Path) -> None:
    """Eight V100 of six links each: two links to two peers, one to two more, none to the other three."""
    double = {(0, 3), (0, 4), (1, 2), (1, 5), (2, 6), (3, 7), (4, 7), (5, 6)}
    single = {(0, 1), (0, 2), (1, 3), (2, 3), (4, 5), (4, 6), (5, 7), (6, 7)}
    label = {**dict.fromkeys(double, "NV2"), **dict.fromkeys(single, "NV1")}
    rows = ["\t".join(["", *(f"GPU{gpu}" for gpu in range(8))])]
    rows += [
        "\t".join([f"GPU{a}", *("X" if a == b else label.get((min(a, b), max(a, b)), "SYS") for b in range(8))])
        for a in range(8)
    ]
    (tmp_path / "topo.txt").write_text("\n".join(rows), encoding="utf-8")
    spec = load(tmp_path, f"device: {{preset: v100-sxm-32gb, {RATES}}}\ntopology: topo.txt\nnum_nodes: 1\n").spec
    # 2 x 2 + 2 x 1 links of 20 GB/s.
    assert tiers(spec)[0] == ("node", (8,), "nvlink", 120.0)
    assert spec.tiers[0].is_mesh


def test_islands_that_are_not_numbered_in_a_row_are_left_out_and_named(tmp_path: Path) -> None:
    text = (SAMPLES / "litgpt_4gpu_nv1_pairs_sys_SYNTHETIC.txt").read_text(encoding="utf-8")
    rows = [line.split() for line in text.splitlines()]
    order = [0, 2, 1, 3]
    cells = {(a, b): rows[1 + a][1 + b] for a in range(4) for b in range(4)}
    lines = ["  ".join(["", *(f"GPU{gpu}" for gpu in range(4))])]
    lines += ["  ".join([f"GPU{a}", *(cells[order[a], order[b]] for b in range(4))]) for a in range(4)]
    (tmp_path / "topo.txt").write_text("\n".join(lines), encoding="utf-8")
    loaded = load(tmp_path, f"device: {{preset: a100-pcie-80gb, {RATES}}}\ntopology: topo.txt\n", 4)
    assert [tier.link for tier in loaded.spec.tiers] == [LinkKind.PCIE]
    assert any("CUDA_VISIBLE_DEVICES=0,2,1,3" in sentence for sentence in loaded.assumptions)


def test_published_series_come_with_the_links_of_a_preset(tmp_path: Path) -> None:
    inside = [table for table in load_cluster("h100-sxm", 8).spec.tables if table.num_nodes == 1]
    assert [*load(tmp_path, "device: h100-sxm\n", 8).spec.tables] == inside
    own_links = "tiers: [{name: node, num_devices: 8, link: nvlink, bandwidth_bytes_per_s: 1 GB/s, latency_s: 3 us}]\n"
    assert load(tmp_path, f"device: h100-sxm\n{own_links}", 8).spec.tables == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("num_nodes: 2\n", "key 'device' is missing"),
        ("device: h1000\n", "device is 'h1000', but must be a preset"),
        (
            "device: {name: MyGPU, memory_bytes: 48 GiB}\n",
            "device lacks kind and peak_flop_per_s and mem_bandwidth_bytes_per_s; name a preset, or add them, e.g. "
            "kind: cuda, peak_flop_per_s: {bf16: 100 TFLOP/s}, mem_bandwidth_bytes_per_s: 1 TB/s",
        ),
        ("device: [h100-sxm]\n", "but must be a preset's name or a device's figures"),
        ("device: h100-sxm\nnodez: 3\n", "unknown key 'nodez'; did you mean 'nodes'"),
        ("device: h100-sxm\nnum_nodes: 0\n", "num_nodes is 0"),
        ("device: h100-sxm\nnum_nodes: 2\nnum_devices: 16\n", "num_devices and num_nodes both stand there"),
        ("device: h100-sxm\nnodes: []\n", "device stands beside nodes"),
        ("nodes: []\n", "nodes must be a list of machines"),
        ("nodes: [{device: h100-sxm, num_devices: 8}, {device: l40s, num_devices: 4}]\n", "only the last entry"),
        ("nodes: [{device: h100-sxm, num_devices: 8, colour: red}]\n", "unknown key 'colour'; known are device, "),
        ("nodes: [{device: h100-sxm, num_device: 8}]\n", "unknown key 'num_device'; did you mean 'num_devices'"),
        ("device: {preset: h100-sxm, power: 3}\n", "device: unknown key 'power'; did you mean 'power_w'"),
        ("device: h100-sxm\nnics: 8\n", "nics is 8, but must be an object with count, bandwidth_bytes_per_s, link"),
        ("device: h100-sxm\ntopology: none.txt\n", "no such file"),
        ("device: h100-sxm\ncollectives: all.txt\n", "collectives must be a list of files"),
        ("device: h100-sxm\nnics: {count: 4}\n", "key 'nics.bandwidth_bytes_per_s' is missing"),
        ("device: h100-sxm\nnetwork: fast\n", "network is 'fast', but must hold link"),
        *(
            (
                f"device: h100-sxm\nnetwork: {{link: {link}, bandwidth_bytes_per_s: 1 GB/s, latency_s: 5 us}}\n",
                f"network.link is '{link}', but must be one of infiniband, roce, efa, ethernet",
            )
            for link in NO_ADAPTERS
        ),
        *(
            (
                f"device: h100-sxm\nnics: {{count: 1, bandwidth_bytes_per_s: 1 GB/s, link: {link}}}\n",
                f"nics: link is '{link}', but adapters are one of infiniband, roce, efa, ethernet",
            )
            for link in NO_ADAPTERS
        ),
        (
            f"{TWO_SITES}wan: {{link: nvlink, bandwidth_bytes_per_s: 1 GB/s, latency_s: 5 ms}}\n",
            "wan.link is 'nvlink', but must be one of infiniband, roce, efa, ethernet, wan",
        ),
        (TWO_SITES, "wan is missing"),
        (
            "device: {name: Mine, kind: cuda, peak_flop_per_s: {bf16: 1 TFLOP/s}, memory_bytes: 8 GiB, "
            "mem_bandwidth_bytes_per_s: 1 TB/s}\ndevices_per_node: 8\n",
            "nothing says how Mine reaches the others",
        ),
    ],
)
def test_what_is_missing_or_wrong_is_said(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(BadInputError) as refusal:
        load(tmp_path, text, 16)
    assert words in str(refusal.value)


def test_a_topology_of_another_machine_is_refused(tmp_path: Path) -> None:
    (tmp_path / "topo.txt").write_text((SAMPLES / "2gpu_phb_no_nvlink.txt").read_text(encoding="utf-8"))
    with pytest.raises(BadInputError, match="num_devices is 8, but its topology describes 2 GPUs"):
        load(tmp_path, "device: h100-sxm\ndevices_per_node: 8\ntopology: topo.txt\n", 8)


def test_efficiencies_that_nobody_measured_are_assumed_and_named(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        "device: {name: Mine, kind: cuda, peak_flop_per_s: {bf16: 1 TFLOP/s}, memory_bytes: 8 GiB, "
        "mem_bandwidth_bytes_per_s: 1 TB/s}\nnum_devices: 1\ndevices_per_node: 1\n",
        1,
    )
    assert (loaded.spec.device.gemm_efficiency_frac, loaded.spec.tiers) == (0.75, ())
    assert any("gemm_efficiency_frac of Mine is assumed to be 0.75" in sentence for sentence in loaded.assumptions)
