"""`planner show` of clusters, machines and measured collectives: what is told apart, and said once, plainly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

SAMPLES = Path(__file__).parents[1] / "clusters"
CSV = "collective,num_ranks,num_nodes,bytes,time_us\n"
NODES = """\
nodes:
  - {num_nodes: 1, device: h100-sxm, num_devices: 8, site: Paris}
  - {num_nodes: 2, device: l40s, num_devices: 1, site: Rome,
     nics: {count: 1, bandwidth_bytes_per_s: 100 Gbit/s, link: roce}}
wan: {bandwidth_bytes_per_s: 10 Gbit/s, latency_s: 5 ms}
"""


def shown(planner, name: str) -> str:
    outcome = planner("show", name)
    assert outcome.code == 0, outcome.stderr
    return " ".join(outcome.stdout.split())


@pytest.mark.parametrize("data", [{"device": "h100-sxm", "num_nodes": 1}, {"nodes": [{"device": "h100-sxm"}]}])
def test_a_cluster_in_json_needs_no_schema(planner, tmp_path: Path, data: dict[str, object]) -> None:
    (tmp_path / "c.json").write_text(json.dumps(data))
    assert planner("show", "c.json", "--json").json["kind"] == "cluster"
    (tmp_path / "c.json").write_text(json.dumps({**data, "colour": "red"}))
    assert "cluster file c.json: unknown key 'colour'" in planner("show", "c.json").stderr


def test_a_csv_of_collectives_is_understood(planner, tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text(f"# ours\n{CSV}all_reduce,16,2,1024,10\nall_gather,8,1,1024,10\n")
    runs = planner("show", "own.csv", "--json").json["runs"]
    assert [(run["collective"], run["num_ranks"], run["num_nodes"]) for run in runs] == [
        ("all_reduce", 16, 2),
        ("all_gather", 8, 1),
    ]
    assert "all_reduce over 16 ranks on 2 machines, 1 size" in shown(planner, "own.csv")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    assert "other.csv: its columns are" in planner("show", "other.csv").stderr


def test_a_number_goes_with_its_noun(planner, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(NODES)
    text = shown(planner, "c.yaml")
    assert "c: 10 GPUs 1 machine with 8 x NVIDIA H100 80GB HBM3, at Paris." in text
    assert "2 machines with 1 x NVIDIA L40S, 1 roce adapter of 12.5 GB/s, at Rome." in text


def test_notes_say_which_device_they_are_of_where_there_are_two(planner, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(NODES)
    text = shown(planner, "c.yaml")
    assert "NVIDIA H100 80GB HBM3: Data sheet, dense peak" in text
    assert "NVIDIA L40S: Data sheet, dense peak" in text
    assert "HBM3: Data sheet" not in shown(planner, "h100-sxm")


def test_where_an_assumed_link_comes_from_is_said_once(planner) -> None:
    text = shown(planner, "l40s")
    assert text.count("eight across two sockets may be far slower") == 1
    assert "Assumed: link 'node' (19.6 GB/s per GPU);" in text


def test_a_topology_says_its_tool_what_its_cells_mean_and_which_adapters_are_near(planner, tmp_path: Path) -> None:
    name = "h200x8_gcp_a3ultra_8roce_ansi_tabs.txt"
    (tmp_path / name).write_bytes((SAMPLES / "topology" / name).read_bytes())
    text = shown(planner, name)
    assert "8 GPUs, 8 network adapters, by nvidia-smi topo -m" in text
    assert "GPU and adapter SYS 32 PCIe and across sockets or NUMA nodes" in text
    assert "Nearest adapters: GPU0-1 NIC0-1 (PIX), GPU2-3 NIC2-3 (PIX), GPU4-5 NIC4-5 (PIX)," in text
    data = planner("show", name, "--json").json
    assert data["tool"] == "nvidia-smi topo -m"
    assert data["nearest_nics"]["GPU3"] == {"kind": "PIX", "nics": ["NIC2", "NIC3"]}
