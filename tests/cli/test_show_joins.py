"""`planner show` of clusters and machines: islands, sockets, and the rings of `--groups`."""

from __future__ import annotations

from pathlib import Path

import pytest

SAMPLES = Path(__file__).parents[1] / "clusters"


def text_of(outcome) -> str:
    assert outcome.code == 0, outcome.stderr
    return " ".join(outcome.stdout.split())


@pytest.fixture
def machine(tmp_path: Path) -> str:
    """Eight GPUs on two sockets."""
    text = (SAMPLES / "topology" / "savio_8gpu_pxb_pix_sys_mlx5_columns.txt").read_text(encoding="utf-8")
    (tmp_path / "topo.txt").write_text(text)
    return "topo.txt"


def test_equal_islands_are_counted_and_unequal_ones_listed(planner, tmp_path: Path) -> None:
    assert "NVLink or xGMI islands: 2 of 8 ranks." in text_of(planner("show", "h100-sxm"))
    assert "NVLink or xGMI islands: none." in text_of(planner("show", "l40s"))
    (tmp_path / "mixed.yaml").write_text((SAMPLES / "files" / "two_kinds.yaml").read_text(encoding="utf-8"))
    assert "islands: 2 of 8 ranks (0-15); 1 of 4 ranks (16-19)." in text_of(planner("show", "mixed.yaml"))
    assert planner("show", "mixed.yaml", "--json").json["islands"] == [
        {"ranks": [0, 1, 2, 3, 4, 5, 6, 7], "count": 2, "stride": 8},
        {"ranks": [16, 17, 18, 19], "count": 1, "stride": 4},
    ]


def test_sockets_of_a_machine_and_of_a_cluster_of_such(planner, machine: str, tmp_path: Path) -> None:
    sentence = "GPU0-3 and GPU4-7 are on different sockets (SYS)."
    assert sentence in text_of(planner("show", machine))
    device = "device: {preset: l40s}\ntopology: topo.txt\n"
    (tmp_path / "one.yaml").write_text(f"{device}num_nodes: 1\n")
    (tmp_path / "three.yaml").write_text(f"{device}num_nodes: 3\n")
    assert f"Each machine: {sentence}" not in text_of(planner("show", "one.yaml"))
    assert f"Each machine: {sentence}" in text_of(planner("show", "three.yaml"))
    mixed = (
        "nodes:\n- {num_nodes: 2, device: l40s, topology: topo.txt}\n- {num_nodes: 1, device: l40s, num_devices: 8}\n"
    )
    (tmp_path / "mixed.yaml").write_text(mixed)
    assert f"Machines 0-1: {sentence}" in text_of(planner("show", "mixed.yaml"))
    assert planner("show", "mixed.yaml", "--json").json["sockets"] == [
        {
            "first_machine": 0,
            "num_machines": 2,
            "groups": [["GPU0", "GPU1", "GPU2", "GPU3"], ["GPU4", "GPU5", "GPU6", "GPU7"]],
            "across": [],
            "unknown": [],
        }
    ]


def test_bridges_over_sockets_leave_pairs_that_are_named(planner, tmp_path: Path) -> None:
    rows = ["\tGPU0\tGPU1\tGPU2\tGPU3", "GPU0\t X \tPIX\tNV4\tSYS", "GPU1\tPIX\t X \tSYS\tNV4"]
    rows += ["GPU2\tNV4\tSYS\t X \tPIX", "GPU3\tSYS\tNV4\tPIX\t X "]
    (tmp_path / "bridges.txt").write_text("\n".join(rows) + "\n")
    text = text_of(planner("show", "bridges.txt"))
    assert "NVLink or xGMI islands: GPU0,2; GPU1,3." in text
    assert "Data crosses a socket (SYS) between GPU0 and GPU3; GPU1 and GPU2." in text


def test_pairs_that_an_output_leaves_out_are_not_said_to_cross(planner, tmp_path: Path) -> None:
    """Only the row of GPU0 is there, so nothing is known of GPU1 and GPU2."""
    (tmp_path / "cut.txt").write_text("\tGPU0\tGPU1\tGPU2\nGPU0\t X \tSYS\tSYS\n")
    text = text_of(planner("show", "cut.txt"))
    assert "GPU0 and GPU1-2 are on different sockets (SYS); what joins GPU1 and GPU2 is not said." in text


def test_rings_of_a_layout_on_as_many_gpus_as_it_needs(planner) -> None:
    outcome = planner("show", "h100-sxm", "--groups", "tp=8,dp=4,pp=2")
    rows = [line.split() for line in outcome.stdout.splitlines()]
    assert "h100-sxm: 64 GPUs" in outcome.stdout
    assert ["tp", "8", "1", "8", "7", "node", "node:", "nvlink", "315", "GB/s"] in rows
    assert ["dp", "4", "8", "16", "3", "network", "network:", "infiniband", "40", "GB/s"] in rows
    assert ["pp", "2", "32", "32", "1", "network", "network:", "infiniband", "40", "GB/s"] in rows
    assert len(rows) <= 30, "one screen"


def test_a_drawing_has_as_many_gpus_as_the_layout(planner, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("device: h100-sxm\nname: mine\n")
    assert planner("show", "c.yaml", "--groups", "tp=8,dp=3", "--svg", "c.svg").code == 0
    assert "24 GPUs in 3 machines" in (tmp_path / "c.svg").read_text(encoding="utf-8")


def test_the_order_of_the_option_is_the_order_on_the_ranks(planner) -> None:
    found = planner("show", "h100-sxm", "--groups", "dp=4, tp=8", "--json").json["rings"]
    assert [(ring["axis"], ring["degree"], ring["stride"]) for ring in found] == [("dp", 4, 1), ("tp", 8, 4)]
    node = {"name": "node", "link": "nvlink", "bandwidth_bytes_per_s": 315e9}
    network = {"name": "network", "link": "infiniband", "bandwidth_bytes_per_s": 40e9}
    # Ranks 0, 4, 8, ... 28 lie on four machines, two on each.
    hops = [{**node, "num_hops": 4}, {**network, "num_hops": 3}]
    assert found[1] == {
        "axis": "tp",
        "degree": 8,
        "stride": 4,
        "slowest": network,
        "kinds": [{"num_groups": 4, "first_rank": 0, "hops": hops}],
    }
    assert "rings" not in planner("show", "h100-sxm", "--json").json


def test_rings_inside_a_machine(planner, machine: str) -> None:
    rows = [line.split() for line in planner("show", machine, "--groups", "tp=4,dp=2").stdout.splitlines()]
    assert ["tp", "4", "1", "2", "1", "PIX,", "2", "PXB", "PXB"] in rows
    assert ["dp", "2", "4", "4", "1", "SYS", "SYS"] in rows


@pytest.mark.parametrize(
    ("file", "groups", "said"),
    [
        ("h100-sxm", ",tp=8", "--groups has the entry ''"),
        ("h100-sxm", "tp", "--groups has the entry 'tp', but needs an axis and its degree, e.g. tp=8,dp=4,pp=2"),
        ("h100-sxm", "tp=8,dp=x", "--groups has the entry 'dp=x'"),
        ("h100-sxm", "tp=0", "--groups has the entry 'tp=0'"),
        ("h100-sxm", "tp=-2", "--groups has the entry 'tp=-2'"),
        ("h100-sxm", "tp=2,tp=4", "--groups names tp twice"),
        ("h100-sxm", "tp=1000,dp=1001", "--groups makes 1001000 ranks, but must make at most 1000000"),
        ("llama-3-8b", "tp=8", "--groups speaks of clusters and topologies, but llama-3-8b is a model"),
        ("small.yaml", "tp=8,dp=4", "small.yaml: has 16 devices, but 32 are asked for"),
        ("topo.txt", "tp=4", "topo.txt: describes 8 GPUs, but the degrees of --groups multiply to 4"),
    ],
)
def test_groups_that_cannot_be(planner, machine: str, tmp_path: Path, file: str, groups: str, said: str) -> None:
    (tmp_path / "small.yaml").write_text("device: h100-sxm\nnum_devices: 16\n")
    outcome = planner("show", file, "--groups", groups)
    assert (outcome.code, outcome.stdout) == (2, "")
    assert said in outcome.stderr
