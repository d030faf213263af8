"""The machines of a cluster file: how many devices they hold, what a part of one keeps, and which cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from written_cluster import load

from costmodel.errors import BadInputError
from costmodel.spec import ClusterSpec, LinkKind, Node, NodeGroup, PathKind, Source, Tier
from planner.clusters.presets import preset_data
from planner.clusters.read import load_cluster

OWN = (
    "{name: Mine, kind: cuda, peak_flop_per_s: {bf16: 1 TFLOP/s}, memory_bytes: 8 GiB, mem_bandwidth_bytes_per_s: "
    "1 TB/s, peer_link_bytes_per_s: 20 GB/s, pcie_bytes_per_s: 30 GB/s}"
)
NETWORK = "network: {link: roce, bandwidth_bytes_per_s: 10 GB/s, latency_s: 10 us}\n"


def matrix(*rows: str) -> str:
    """A table of GPUs from the cells of its rows."""
    names = [f"GPU{index}" for index in range(len(rows))]
    return "\n".join([" " + " ".join(names), *(f"{name} {row}" for name, row in zip(names, rows, strict=True))]) + "\n"


def all_joined_by(cell: str, num_gpus: int) -> str:
    return matrix(*(" ".join("X" if a == b else cell for b in range(num_gpus)) for a in range(num_gpus)))


FOUR_AND_TWO = matrix(
    "X PIX PIX PIX SYS SYS",
    "PIX X PIX PIX SYS SYS",
    "PIX PIX X PIX SYS SYS",
    "PIX PIX PIX X SYS SYS",
    "SYS SYS SYS SYS X PIX",
    "SYS SYS SYS SYS PIX X",
)
"""Six GPUs behind two switches: 30 GB/s x 0.77 behind one, x 0.5 across."""


def tiers(spec: ClusterSpec) -> list[tuple[str, tuple[int, ...], float]]:
    """(name, sizes of the units, GB/s) of every tier."""
    return [
        (tier.name, tier.sizes(spec.num_devices), round(tier.bandwidth_bytes_per_s / 1e9, 2)) for tier in spec.tiers
    ]


@pytest.mark.parametrize(
    ("num_gpus", "expected"),
    [
        (3, [("switch", (3,), 23.1)]),
        (5, [("switch", (4, 1), 23.1), ("node", (5,), 15.0)]),
        (6, [("switch", (4, 2), 23.1), ("node", (6,), 15.0)]),
        (10, [("switch", (4, 2, 4), 23.1), ("node", (6, 4), 15.0), ("network", (10,), 10.0)]),
        (18, [("switch", (4, 2, 4, 2, 4, 2), 23.1), ("node", (6, 6, 6), 15.0), ("network", (18,), 10.0)]),
    ],
)
@pytest.mark.parametrize("device", [OWN, "{preset: a100-pcie-80gb, pcie_bytes_per_s: 30 GB/s}"])
@pytest.mark.parametrize("total", ["", "num_devices: {num_gpus}\n"])
def test_a_part_of_a_machine_keeps_its_topology(
    tmp_path: Path, device: str, num_gpus: int, expected: list[Any], total: str
) -> None:
    (tmp_path / "topo.txt").write_text(FOUR_AND_TWO)
    text = f"device: {device}\ntopology: topo.txt\n{NETWORK}" + total.format(num_gpus=num_gpus)
    spec = load(tmp_path, text, num_gpus).spec
    assert tiers(spec) == expected
    assert spec.tables == ()
    for group in spec.nodes:
        assert group.node.topology is not None
        assert len(group.node.topology.gpus) == group.node.num_devices
        assert len(group.node.topology.pairs) == group.node.num_devices * (group.node.num_devices - 1) // 2
    assert ClusterSpec.from_json(spec.to_json(), "again") == spec


@pytest.mark.parametrize("num_gpus", [2, 3, 8, 11])
def test_a_part_of_machines_behind_a_switch_keeps_the_rate_of_a_gpu(tmp_path: Path, num_gpus: int) -> None:
    # Four links of 20 GB/s a GPU. Three of them alone would look like a mesh of eight links each.
    (tmp_path / "topo.txt").write_text(all_joined_by("NV4", 8))
    spec = load(tmp_path, f"device: {OWN}\ntopology: topo.txt\n{NETWORK}", num_gpus).spec
    assert (spec.tiers[0].bandwidth_bytes_per_s, spec.tiers[0].is_mesh) == (80e9, False)


def stated_tiers(*links: tuple[str, int | None]) -> str:
    entries = [
        f"  - {{name: {link}{size or ''}, link: {link}, bandwidth_bytes_per_s: 10 GB/s, latency_s: 5 us"
        + (f", num_devices: {size}}}" if size else "}")
        for link, size in links
    ]
    return "tiers:\n" + "\n".join(entries) + "\n"


@pytest.mark.parametrize(
    ("device", "links", "size"),
    [
        ("h100-nvl", [("nvlink", 2), ("pcie", 8), ("roce", None)], 8),
        ("h100-nvl", [("nvlink", 2), ("pcie", 4), ("roce", None)], 4),
        ("l40s", [("pcie", 10), ("roce", None)], 10),
        ("h100-sxm", [("nvlink", 4), ("infiniband", None)], 4),
        ("h100-sxm", [("roce", None)], 8),
        ("gb200", [("nvlink", 72), ("infiniband", None)], 4),
        (OWN, [("nvlink", 2), ("pcie", 6), ("roce", None)], 6),
        (OWN, [("nvlink", 8), ("roce", None)], 8),
    ],
)
def test_how_many_devices_a_machine_holds(
    tmp_path: Path, device: str, links: list[tuple[str, int | None]], size: int
) -> None:
    spec = load(tmp_path, f"device: {device}\nnum_nodes: 2\n{stated_tiers(*links)}").spec
    assert spec.node_sizes == (size, size)
    assert len(spec.tiers) == len([width for _, width in links if width is None or width <= 2 * size])


def test_a_size_that_nothing_says_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"cluster\.yaml: devices_per_node is missing"):
        load(tmp_path, f"device: {OWN}\nnum_nodes: 2\n{stated_tiers(('roce', 16))}")
    with pytest.raises(BadInputError, match=r"nodes\.0: num_devices is missing"):
        load(tmp_path, f"nodes: [{{device: {OWN}}}]\n{stated_tiers(('roce', 16))}")


@pytest.mark.parametrize(
    ("links", "words"),
    [
        ([("nvlink", 12), ("roce", None)], "tier nvlink12 joins devices 1 to 12, which are neither of one machine"),
        ([("nvlink", 8), ("nvlink", 16), ("roce", None)], None),
        ([("nvlink", 8), ("nvlink", 12), ("roce", None)], "tier nvlink12 joins devices 1 to 12"),
        (
            [("nvlink", 4), ("pcie", 6), ("pcie", 8), ("roce", None)],
            "units of tier nvlink4 lie across those",
        ),
    ],
)
def test_tiers_nest_in_machines_and_in_each_other(
    tmp_path: Path, links: list[tuple[str, int | None]], words: str | None
) -> None:
    text = f"device: h100-sxm\ndevices_per_node: 8\nnum_nodes: 3\n{stated_tiers(*links)}"
    if words is None:
        assert load(tmp_path, text).spec.num_devices == 24
        return
    with pytest.raises(BadInputError, match=words):
        load(tmp_path, text)


def test_units_that_do_not_divide_a_machine_end_with_it(tmp_path: Path) -> None:
    spec = load(tmp_path, "device: h100-nvl\ndevices_per_node: 3\nnum_nodes: 2\n").spec
    assert [(name, sizes) for name, sizes, _ in tiers(spec)] == [
        ("pair", (2, 1, 2, 1)),
        ("node", (3, 3)),
        ("network", (6,)),
    ]


def test_racks_hold_whole_machines_of_one_site(tmp_path: Path) -> None:
    machines = "{device: gb200, num_devices: 16, num_nodes: 6, site: a}, {device: gb200, num_nodes: 2, site: b}"
    wan = "wan: {bandwidth_bytes_per_s: 1 Gbps, latency_s: 3 ms}\n"
    spec = load(tmp_path, f"nodes: [{machines}]\n{wan}").spec
    # Of 72 places four machines of 16 take 64.
    assert [(name, sizes) for name, sizes, _ in tiers(spec)] == [
        ("rack", (64, 32, 8)),
        ("network", (96, 8)),
        ("wan", (104,)),
    ]


def test_a_million_devices_are_most_in_all(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="hold 8,000,000 devices in all, but at most 1,000,000 are taken"):
        load(tmp_path, "device: h100-sxm\ndevices_per_node: 8\nnum_nodes: 1000000\n")
    assert load(tmp_path, "device: h100-sxm\ndevices_per_node: 1000000\n").spec.num_devices == 1_000_000
    node = Node(device=load_cluster("h100-sxm", 1).spec.device, num_devices=8)
    link = {"link": LinkKind.ROCE, "bandwidth_bytes_per_s": 1e9, "latency_s": 1e-5, "source": Source.ASSUMED}
    with pytest.raises(ValueError, match="machines hold 8,000,000,000,000 devices in all, more than 1,000,000"):
        ClusterSpec(
            name="x",
            nodes=(NodeGroup(num_nodes=10**12, node=node),),
            tiers=(Tier(name="network", num_devices=8 * 10**12, **link),),
        )


@pytest.mark.parametrize("device", ["p4de.24xlarge", "{preset: P4DE.24xlarge}"])
def test_a_machine_stands_for_itself_where_a_device_is_asked_for(tmp_path: Path, device: str) -> None:
    named = load_cluster("p4de.24xlarge", 16).spec
    assert max(table.num_nodes or 1 for table in named.tables) == 2
    for text in (
        f"name: p4de.24xlarge\ndevice: {device}\n",
        f"name: p4de.24xlarge\nnodes: [{{device: {device}, num_devices: 8}}]\n",
    ):
        assert load(tmp_path, text, 16).spec == named


def test_what_stands_beside_a_machine_wins(tmp_path: Path) -> None:
    nics = "nics: {count: 1, bandwidth_bytes_per_s: 100 Gbps, link: roce}"
    spec = load(tmp_path, f"device: p4de.24xlarge\nnum_nodes: 2\nprice_usd_per_device_hour: 1\n{nics}\n").spec
    node, published = spec.nodes[0].node, preset_data("p4de.24xlarge")
    assert (node.price_usd_per_device_hour, node.num_cores) == (1, published["num_cores"])
    assert tiers(spec)[-1] == ("network", (16,), 1.25)  # 12.5 GB/s x 0.8 / 8
    # What was measured over other adapters says nothing of these.
    assert {table.num_nodes for table in spec.tables} == {1}
    two = load(tmp_path, "nodes: [{device: dgx-a100, num_nodes: 1}, {device: p4de.24xlarge, num_nodes: 1}]\n").spec
    assert [group.node.nics.link for group in two.nodes if group.node.nics] == [LinkKind.INFINIBAND, LinkKind.EFA]


@pytest.mark.parametrize(
    ("device", "topology", "words"),
    [
        ("mi300x", all_joined_by("NV4", 4), r"links of NVIDIA \(NV\), but the device is AMD Instinct MI300X"),
        (
            "h100-sxm",
            "== Link Type between two GPUs ==\n GPU0 GPU1\nGPU0 0 XGMI\nGPU1 XGMI 0\n",
            r"links of AMD \(XGMI\), but the device is NVIDIA H100",
        ),
    ],
)
def test_links_of_another_maker_are_refused(tmp_path: Path, device: str, topology: str, words: str) -> None:
    (tmp_path / "topo.txt").write_text(topology)
    with pytest.raises(BadInputError, match=words):
        load(tmp_path, f"device: {device}\ntopology: topo.txt\n", 2)


@pytest.mark.parametrize(
    ("stated", "preset_gb", "switch_gb"), [("", 15.5, 23.87), ("true", 23.87, 23.87), ("false", 15.5, 15.5)]
)
def test_peer_access_decides_the_share_of_the_slot(
    tmp_path: Path, stated: str, preset_gb: float, switch_gb: float
) -> None:
    # A slot of 31 GB/s: x 0.77 with peer access, x 0.5 through host memory and always across sockets.
    key = f"peer_access: {stated}\n" if stated else ""
    loaded = load(tmp_path, f"device: rtx-4090\n{key}", 8)
    assert tiers(loaded.spec) == [("node", (8,), preset_gb)]
    assert (f"peer_access is {stated}" in loaded.spec.tiers[0].note) == bool(stated)
    (tmp_path / "topo.txt").write_text(FOUR_AND_TWO)
    spec = load(tmp_path, f"device: rtx-4090\ntopology: topo.txt\n{key}", 6).spec
    assert tiers(spec) == [("switch", (4, 2), switch_gb), ("node", (6,), 15.5)]


def test_peer_access_that_prices_nothing_is_said(tmp_path: Path) -> None:
    own = load(tmp_path, f"device: rtx-4090\npeer_access: true\n{stated_tiers(('pcie', 8))}", 8)
    assert own.spec.tiers[0].bandwidth_bytes_per_s == 10e9
    assert "Links are priced as tiers state them; peer_access prices none." in own.assumptions
    joined = load(tmp_path, "device: h100-sxm\npeer_access: false\n", 16)
    assert joined.spec.tiers == load_cluster("h100-sxm", 16).spec.tiers
    assert "No GPUs of a machine exchange over PCIe, so peer_access prices nothing." in joined.assumptions


def test_the_first_gpus_of_a_topology_keep_their_pairs(tmp_path: Path) -> None:
    (tmp_path / "topo.txt").write_text(FOUR_AND_TWO)
    topology = load(tmp_path, f"device: {OWN}\ntopology: topo.txt\n", 6).spec.nodes[0].node.topology
    assert topology is not None
    first = topology.first(5)
    assert first.gpus == ("GPU0", "GPU1", "GPU2", "GPU3", "GPU4")
    assert [pair.kind for pair in first.pairs].count(PathKind.SYS) == 4
