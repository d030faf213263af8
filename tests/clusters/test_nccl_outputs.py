"""Every sample of nccl-tests becomes the table it is expected to; what is wrong or idle enters no fit."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from costmodel.errors import BadInputError
from costmodel.spec.collective import Collective, CollectiveTable
from planner.clusters.nccl_tests import reader

SAMPLES = Path(__file__).parent / "nccl_tests"
ROWS = list(csv.DictReader((SAMPLES / "expected.csv").open(encoding="utf-8")))

COLUMNS = "time   algbw   busbw #wrong"
HEADER = f"#       size         count      type   redop    root     {COLUMNS}     {COLUMNS}"
GROUP = "5000.0  214.75  375.81      0"
ROW = f"  1073741824     268435456     float     sum      -1   {GROUP}   {GROUP}"
"""1 GiB in 5 ms: 214.75 GB/s, and 375.81 = 214.75 x 2 (8 - 1) / 8 for eight ranks."""


def read(text: str, name: str = "") -> CollectiveTable:
    (table,) = reader.read_runs(text, "nccl.txt", name)
    return table


def test_every_sample_is_expected_to_become_something() -> None:
    files = sorted(path.name for path in SAMPLES.glob("*.txt"))
    assert [row["file"] for row in ROWS] == files
    assert [row["file"] for row in csv.DictReader((SAMPLES / "sources.csv").open(encoding="utf-8"))] == files


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["file"])
def test_a_sample_becomes_what_is_expected(row) -> None:
    found = read((SAMPLES / row["file"]).read_text(encoding="utf-8"), row["file"])
    last = found.samples[-1]
    assert found.collective.value == row["collective"]
    assert str(found.num_ranks or "") == row["num_ranks"]
    assert " ".join(found.devices) == row["devices"]
    assert len(found.samples) == int(row["num_samples"])
    assert sum(sample.enters_fit for sample in found.samples) == int(row["num_in_fit"])
    assert (last.bytes, last.time_s) == (int(row["largest_bytes"]), float(row["time_s"]))
    assert last.busbw_bytes_per_s == float(row["busbw_gb_per_s"]) * 1e9
    assert " | ".join(found.warnings) == row["warnings"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["file"])
def test_bus_bandwidth_is_that_of_the_time(row) -> None:
    """busbw = bytes / time x factor of the collective and its ranks, to the digits printed (0.01 GB/s, 4 of time)."""
    found = read((SAMPLES / row["file"]).read_text(encoding="utf-8"), row["file"])
    if found.num_ranks is None:
        return
    for sample in found.samples:
        if sample.enters_fit:
            computed = sample.bytes / sample.time_s * found.collective.bus_factor(found.num_ranks)
            assert sample.busbw_bytes_per_s == pytest.approx(computed, rel=2e-3, abs=1.01e7)


@pytest.mark.parametrize(
    "line",
    [
        ROW,
        f"0: {ROW}",
        f"[1,0]<stdout>:{ROW}",
        f"2026-05-01T10:00:00.123Z {ROW}",
        f"worker-0: {ROW}",
        f"\x1b[32m{ROW}\x1b[0m",
        ROW.replace("sum      -1", "sum"),
    ],
)
def test_prefixes_of_launchers_are_taken_off(line: str) -> None:
    found = read(f"{HEADER}\n{line}\n")
    assert (found.collective, found.num_ranks) == (Collective.ALL_REDUCE, 8)
    assert (found.samples[0].bytes, found.samples[0].time_s) == (2**30, 0.005)


def test_a_header_says_how_many_columns_there_are() -> None:
    one_group = HEADER[: HEADER.rindex("time") - 3].replace("#wrong", "")
    found = read(f"{one_group}\n  1073741824  268435456  float  sum  -1  5000.0  214.75  375.81\n")
    assert found.samples[0].in_place_time_s is None
    assert found.samples[0].num_wrong is None


def test_wrong_results_are_named_and_enter_no_fit() -> None:
    wrong = ROW.replace("375.81      0   5000", "375.81      7   5000")
    found = read(f"{HEADER}\n{wrong}\n{ROW}\n# Out of bounds values : 7 FAILED\n")
    assert [sample.enters_fit for sample in found.samples] == [False, True]
    assert "results were wrong at 1073741824 bytes; these times enter no fit" in found.warnings
    assert "nccl-tests itself counts 7 values out of bounds" in found.warnings


def test_a_bandwidth_of_zero_enters_no_fit() -> None:
    idle = "  8  2  float  sum  -1  13.67  0.00  0.00  0  13.03  0.00  0.00  0"
    assert [sample.enters_fit for sample in read(f"{HEADER}\n{idle}\n{ROW}\n").samples] == [False, True]


def test_a_row_that_is_cut_off_is_left_out_and_named() -> None:
    found = read(f"{HEADER}\n{ROW}\n{ROW[:70]}\n")
    assert len(found.samples) == 1
    assert found.warnings[0].startswith("rows that are cut off or cannot be read are left out (1), e.g. '1073741824")


@pytest.mark.parametrize(
    ("count", "type_and_redop", "collective"),
    [
        (2**28, "float none -1", "send_recv"),
        (2**28, "float sum -1", "all_reduce"),
        (2**28, "float none 0", "broadcast"),
        (2**28, "float sum 0", "reduce"),
        (2**25, "float sum -1", "reduce_scatter"),
        (2**25, "float none -1", "all_gather"),
        (2**29, "half none -1", "send_recv"),
    ],
)
def test_columns_tell_the_collective(count: int, type_and_redop: str, collective: str) -> None:
    """1 GiB is 2^28 floats; spread over 8 ranks each holds 2^25 of them."""
    row = f"1073741824 {count} {type_and_redop} 5000.0 214.75 187.90 0 5000.0 214.75 187.90 0"
    assert read(f"{HEADER}\n{row}\n").collective.value == collective


SENT = "1073741824 268435456 float sum -1 5000.0 214.75 214.75 0 5000.0 214.75 214.75 N/A"
"""As sendrecv_perf prints: a reduction of no use, busbw as algbw, and no check in place."""
UNCHECKED = SENT.replace("214.75 0", "214.75 N/A")
CHECKED = SENT.replace("N/A", "0")


def listed(number: int, **others: str) -> str:
    said = {"group": "Group  0 ", "host": "node", "device": "{rank}"} | others
    line = "#  Rank  {rank} {group}Pid  1{rank} on  {host} device  {device} [0x1b] NVIDIA B200"
    return "".join(
        line.format(rank=rank, **{key: text.format(rank=rank, half=rank // 8) for key, text in said.items()}) + "\n"
        for rank in range(number)
    )


@pytest.mark.parametrize(
    ("ranks", "row", "name", "collective"),
    [
        ("", SENT, "", "send_recv"),
        ("", SENT.replace("N/A", "-1"), "", "send_recv"),
        ("# sendrecv_perf -b 1G\n", SENT, "", "send_recv"),
        ("", CHECKED, "", "all_reduce"),  # busbw = algbw x 2 (2 - 1) / 2 over two ranks
        ("", UNCHECKED, "allreduce.txt", "all_reduce"),
        ("", UNCHECKED, "send_recv.txt", "send_recv"),
        (listed(8), UNCHECKED, "", "send_recv"),
    ],
)
def test_sendrecv_is_told_from_an_all_reduce(ranks: str, row: str, name: str, collective: str) -> None:
    assert read(f"{ranks}{HEADER}\n{row}\n", name).collective.value == collective


def test_what_may_be_either_is_asked_for() -> None:
    with pytest.raises(BadInputError, match="nothing says whether it is all_reduce or send_recv; name the file after"):
        read(f"{listed(2)}{HEADER}\n{UNCHECKED}\n")


def test_a_file_named_after_another_collective_is_said() -> None:
    warnings = read(f"{listed(8)}{HEADER}\n{SENT}\n", "all_reduce.txt").warnings
    assert "the file's name says all_reduce, but the columns are those of send_recv" in warnings


@pytest.mark.parametrize(
    ("others", "num_nodes"),
    [
        ({}, 1),
        ({"host": "node{half}"}, 2),
        # Containers of one name: a machine has each slot once.
        ({"device": "{half}"}, 8),
    ],
)
def test_hosts_that_are_listed_are_the_machines(others: dict[str, str], num_nodes: int) -> None:
    found = read(f"{listed(16, **others)}{HEADER}\n{ROW.replace('375.81', '402.66')}\n")
    assert (found.num_ranks, found.num_nodes) == (16, num_nodes)


def test_of_groups_side_by_side_one_counts() -> None:
    """NCCL_TESTS_SPLIT="MOD 8" of 16 ranks on two machines: rank r is in group r % 8, with one other elsewhere."""
    ranks = "".join(
        f"#  Rank {rank:2} Group {rank % 8:2} Pid  1{rank} on  node{rank // 8} device {rank % 8} [0x1b] NVIDIA B200\n"
        for rank in range(16)
    )
    found = read(f"{ranks}{HEADER}\n{CHECKED}\n", "all_reduce.txt")
    assert (found.num_ranks, found.num_nodes) == (2, 2)
    (warning,) = found.warnings
    assert warning == "8 groups ran side by side (NCCL_TESTS_SPLIT); one counts, of 2 ranks"


def test_columns_of_iterations_and_timestamps_are_passed_over() -> None:
    ends = {"i_min  i_max  i_p99  i_cv%": "4990.0 5010.0 5009.0 0.10", "": ""}
    for columns, figures in ends.items():
        header = f"# size count type redop root {COLUMNS} {columns} {COLUMNS} {columns} timestamp"
        row = f"1073741824 268435456 float sum -1 {GROUP} {figures} {GROUP} {figures} 2026-05-01 10:00:00"
        found = read(f"{header}\n{row}\n")
        assert (found.samples[0].time_s, found.samples[0].in_place_time_s, found.num_ranks) == (0.005, 0.005, 8)


def test_the_program_names_the_collective() -> None:
    row = "1073741824 33554432 float none -1 5000.0 214.75 187.90 0 5000.0 214.75 187.90 0"
    assert read(f"# alltoall_perf -b 1G\n{HEADER}\n{row}\n").collective is Collective.ALL_TO_ALL


def test_a_gather_is_told_from_a_scatter_by_its_name_only() -> None:
    row = "1073741824 33554432 float none 0 5000.0 214.75 187.90 0 5000.0 214.75 187.90 0"
    assert read(f"{HEADER}\n{row}\n", "runs/scatter_8.txt").collective is Collective.SCATTER
    with pytest.raises(BadInputError, match="nothing says whether it is gather or scatter"):
        read(f"{HEADER}\n{row}\n")


def test_ranks_that_are_listed_must_agree_with_the_figures() -> None:
    """375.81 / 214.75 = 1.75 = 2 (8 - 1) / 8: eight ranks, of which four are listed."""
    ranks = [f"#  Rank  {rank} Group  0 Pid  1{rank} on  node device  {rank} [0x1b] NVIDIA B200" for rank in range(4)]
    found = read("\n".join([*ranks, HEADER, ROW]))
    assert "it lists 4 ranks, but its figures are those of 8" in found.warnings


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "holds no results of nccl-tests"),
        (HEADER, "holds no results of nccl-tests"),
        (
            f"{HEADER}\nnode: Test NCCL failure common.cu:958 'unhandled system error'\n",
            "it says .*Test NCCL failure",
        ),
        (f"{HEADER}\n{ROW.replace('5000.0', '5e15')}\n", "that no device has"),
        (f"{HEADER}\n" + f"{ROW}\n" * 10_001, "at most 10000 are read"),
    ],
)
def test_another_text_is_refused_in_one_sentence(text: str, words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        read(text)
