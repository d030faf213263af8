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
