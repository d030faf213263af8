"""Measured collectives of a cluster file: one's own count first, the preset's others stay, and the answer says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from costmodel.collectives.tables import lookup
from costmodel.spec import Collective, Source
from planner.cli.main import run as planner
from planner.clusters.read import LoadedCluster, load_cluster
from planner.clusters.table_fit import are_other_gpus

HERE = Path(__file__).parent
REDUCE_8 = (HERE / "nccl_tests" / "h100_1n8g_dgxc_allreduce_8B-16GiB.txt").read_text(encoding="utf-8")
L40S_8 = REDUCE_8.replace("NVIDIA H100 80GB HBM3", "NVIDIA L40S")
UNKNOWN = (HERE / "nccl_tests" / "gb200_20rack1440g_coreweave_allreduce.txt").read_text(encoding="utf-8")
"""1,404 to 1,472 ranks by its figures."""
CSV = "collective,num_ranks,num_nodes,bytes,time_us\n"


def ranks(number: int) -> str:
    return "".join(
        f"#  Rank  {rank} Pid  1{rank} on  node device  {rank} [0x1b] NVIDIA L40S\n" for rank in range(number)
    )


def row(redop: str, busbw: str) -> str:
    program = "all_gather_perf" if redop == "none" else "all_reduce_perf"
    return f"# {program}\n  1024  256  float  {redop}  -1  13.67  0.00  {busbw}  0  13.03  0.00  {busbw}  0\n"


def load(folder: Path, text: str, num_gpus: int | None = None, **files: str) -> LoadedCluster:
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")
    (folder / "cluster.yaml").write_text(text, encoding="utf-8")
    return load_cluster(str(folder / "cluster.yaml"), num_gpus)


def groups(loaded: LoadedCluster, source: Source) -> set[tuple[str, int | None]]:
    return {(table.collective.value, table.num_ranks) for table in loaded.spec.tables if table.source is source}


def test_ones_own_count_first_and_the_others_of_the_preset_stay(tmp_path: Path) -> None:
    inside = [table for table in load_cluster("h100-sxm", 8).spec.tables if table.num_nodes == 1]
    published = {(table.collective.value, table.num_ranks) for table in inside}
    loaded = load(tmp_path, "device: h100-sxm\ncollectives: [own]\n", 8, own=REDUCE_8)
    assert groups(loaded, Source.MEASURED) == {("all_reduce", 8)}
    assert groups(loaded, Source.ANALYTIC) == published - {("all_reduce", 8)}
    assert "Measured times of one's own price all_reduce over 8 ranks." in loaded.assumptions
    (said,) = [sentence for sentence in loaded.assumptions if sentence.startswith("Published times of h100-sxm price")]
    assert "all_reduce over 2, 4 ranks" in said


def test_two_kinds_of_machines_are_priced_by_no_one_time(tmp_path: Path) -> None:
    nodes = (
        "nodes: [{num_nodes: 1, device: h100-sxm, num_devices: 8}, {num_nodes: 1, device: h200-sxm, num_devices: 8}]"
    )
    loaded = load(tmp_path, f"{nodes}\ncollectives: [own]\n", own=REDUCE_8)
    assert loaded.spec.tables == ()
    assert any("price nothing, since machines of this cluster differ" in said for said in loaded.assumptions)


def test_runs_over_equal_groups_are_one_table_of_medians(tmp_path: Path) -> None:
    rows = ["all_reduce,8,1,1048576,50\n", "all_reduce,8,1,1048576,70\n", "all_reduce,8,1,1048576,60\n"]
    files = {f"{number}.csv": CSV + row for number, row in enumerate(rows)}
    loaded = load(tmp_path, "device: l40s\ncollectives: [0.csv, 1.csv, 2.csv]\n", 8, **files)
    (table,) = loaded.spec.tables
    assert table.times == ((2**20, 60e-6),)


def test_all_runs_of_a_file_enter(tmp_path: Path) -> None:
    gather = (HERE / "nccl_tests" / "a100-40_1n8g_superbench_allgather_oldformat.txt").read_text(encoding="utf-8")
    loaded = load(
        tmp_path, "device: l40s\ncollectives: [both]\n", 8, both=f"{L40S_8}\n{gather.replace('A100-SXM4-40GB', 'L40S')}"
    )
    assert groups(loaded, Source.MEASURED) == {("all_reduce", 8), ("all_gather", 8)}


def test_a_part_of_a_machine_keeps_what_was_measured_inside_it(tmp_path: Path) -> None:
    """Eight ranks were measured in one machine of eight, of which four are asked for."""
    loaded = load(tmp_path, "device: l40s\ndevices_per_node: 8\ncollectives: [own]\n", 4, own=L40S_8)
    (table,) = loaded.spec.tables
    assert (table.num_ranks, table.num_nodes) == (8, 1)


def test_a_run_over_a_rack_prices_the_rack(tmp_path: Path) -> None:
    """72 ranks of 18 machines that NVLink joins: the output lists no hosts, and no network lies between them."""
    name = "gb200_1rack72g_coreweave_allreduce.txt"
    own = (HERE / "nccl_tests" / name).read_text(encoding="utf-8")
    spec = load(tmp_path, f"device: gb200\ncollectives: [{name}]\n", 72, **{name: own}).spec
    size_bytes, time_s = spec.tables[-1].times[0]
    assert spec.tables[-1].source is Source.MEASURED
    timed = lookup(spec, Collective.ALL_REDUCE, 72, 1, size_bytes)
    assert timed is not None
    assert (timed.time_s, timed.source) == (time_s, Source.MEASURED)


@pytest.mark.parametrize(
    ("cluster", "content", "why"),
    [
        # 16 ranks of one host, which cannot be two machines of 8.
        (
            "device: l40s",
            ranks(16) + row("sum", "0.02"),
            "it has 16 ranks on 1 machine, but those of this cluster hold 8",
        ),
        # Two of 16 GPUs would have had the adapters to themselves.
        (
            "device: l40s",
            CSV + "all_reduce,2,2,1048576,50\n",
            "it has 2 ranks on 2 machines, but those of this cluster",
        ),
        ("device: h100-sxm", ranks(8) + row("sum", "0.02"), "it lists NVIDIA L40S, but the cluster has NVIDIA H100"),
        ("device: a100-pcie-80gb", REDUCE_8.replace("H100 80GB HBM3", "A100-SXM4-80GB"), "it lists NVIDIA A100-SXM4"),
    ],
)
def test_a_table_of_others_is_not_used_and_said(tmp_path: Path, cluster: str, content: str, why: str) -> None:
    name = "own.csv" if content.startswith(CSV) else "own.txt"
    loaded = load(tmp_path, f"{cluster}\ncollectives: [{name}]\n", 16, **{name: content})
    assert groups(loaded, Source.MEASURED) == set()
    assert any(f"its times of all_reduce price nothing, since {why}" in sentence for sentence in loaded.assumptions)


@pytest.mark.parametrize(
    ("device", "listed", "are_others"),
    [
        ("NVIDIA A100-SXM4-80GB", "A100-SXM4-40GB", False),
        ("NVIDIA A100 80GB PCIe", "NVIDIA A100-PCIE-40GB", False),
        ("NVIDIA H100 80GB HBM3", "NVIDIA H100", False),
        ("NVIDIA H200 NVL", "NVIDIA H200", True),
        ("NVIDIA B200", "NVIDIA GB200", True),
        ("NVIDIA H100 80GB HBM3", "Tesla T4", True),
        ("My GPU", "Tesla T4", False),
    ],
)
def test_gpus_are_told_apart_by_what_the_driver_calls_them(device: str, listed: str, are_others: bool) -> None:
    assert are_other_gpus(listed, [device]) == are_others


def test_hosts_of_a_rack_are_one_unit(tmp_path: Path) -> None:
    """72 ranks on 18 trays of four are those of one rack, and so are the 16 asked for."""
    trays = "".join(
        f"#  Rank {rank} Group 0 Pid {rank} on tray{rank // 4} device {rank % 4} [0x1b] NVIDIA GB200\n"
        for rank in range(72)
    )
    busbw = row("sum", "0.02").replace("13.67  0.00", "13.67  0.01")
    loaded = load(tmp_path, "device: gb200\ncollectives: [own]\n", 16, own=trays + busbw)
    (table,) = [table for table in loaded.spec.tables if table.source is Source.MEASURED]
    assert (table.num_ranks, table.num_nodes) == (72, 1)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (
            UNKNOWN,
            "all_reduce price nothing, since the number of ranks is not known; keep the list of ranks in the output",
        ),
        (ranks(1) + row("none", "0.00"), "all_gather price nothing, since one rank has nothing to exchange"),
        (ranks(8) + row("sum", "0.00"), "all_reduce price nothing, since none has a size and a bandwidth above 0"),
    ],
)
def test_a_table_that_prices_nothing_is_left_out_and_said(tmp_path: Path, content: str, why: str) -> None:
    loaded = load(tmp_path, "device: l40s\ncollectives: [runs.txt]\n", 8, **{"runs.txt": content})
    assert loaded.spec.tables == ()
    place = f"output of nccl-tests {tmp_path / 'runs.txt'}"
    assert any(sentence.startswith(f"{place}: its times of {why}") for sentence in loaded.assumptions)


def test_warnings_of_named_files_reach_the_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    topology = (HERE / "topology" / "2gpu_pxb_2nic_no_nvlink_rows_cut.txt").read_text(encoding="utf-8")
    wrong = REDUCE_8.replace("# Out of bounds values : 0 OK", "# Out of bounds values : 3 FAILED")
    text = "device: l40s\nnum_nodes: 1\ntopology: topo.txt\ncollectives: [own.txt]\n"
    loaded = load(tmp_path, text, None, **{"topo.txt": topology, "own.txt": wrong})
    file = str(tmp_path / "cluster.yaml")
    assert planner(["show", file, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["assumptions"]
    assert planner(["show", file]) == 0
    as_text = " ".join(capsys.readouterr().out.split())
    for place, warning in (
        (f"topology {tmp_path / 'topo.txt'}", "rows of"),
        (f"output of nccl-tests {tmp_path / 'own.txt'}", "nccl-tests itself counts 3 values out of bounds"),
    ):
        (sentence,) = [said for said in loaded.assumptions if said.startswith(f"{place}: {warning}")]
        assert sentence in shown
        assert warning in as_text
