"""Outputs with several runs of nccl-tests: each is a table of its own, and what cannot be told apart is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from costmodel.errors import BadInputError
from costmodel.spec import CollectiveTable
from planner.cli.main import run as planner
from planner.clusters.nccl_tests import reader

COLUMNS = "time   algbw   busbw #wrong"
HEADER = f"#       size         count      type   redop    root     {COLUMNS}     {COLUMNS}"
REDUCE_8 = "1073741824 268435456 float sum -1 5000.0 214.75 375.81 0 5000.0 214.75 375.81 0"
"""1 GiB in 5 ms: 214.75 GB/s, and 375.81 = 214.75 x 2 (8 - 1) / 8 for eight ranks."""
REDUCE_4 = "1073741824 268435456 float sum -1 4000.0 268.44 402.65 0 4000.0 268.44 402.65 0"
"""In 4 ms: 268.44 GB/s, and 402.65 = 268.44 x 2 (4 - 1) / 4 for four."""
GATHER_8 = "1073741824 33554432 float none -1 2500.0 429.50 375.81 0 2500.0 429.50 375.81 0"
"""2^25 floats on each of eight ranks."""
SUMMARY = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 375.8"


def ranks(number: int, pid: int = 100, host: str = "node") -> str:
    return "\n".join(
        f"#  Rank  {rank} Group  0 Pid {pid + rank} on {host} device  {rank} [0x1b] NVIDIA H100"
        for rank in range(number)
    )


def run(program: str, number: int, row: str, pid: int = 100) -> str:
    call = f"# Collective test starting: {program}\n# nThread 1 nGpus {number} minBytes 1073741824\n# Using devices"
    return f"{call}\n{ranks(number, pid)}\n{HEADER}\n{row}\n{SUMMARY}\n# Collective test concluded: {program}\n"


def found(tables: tuple[CollectiveTable, ...]) -> list[tuple[str, int | None, float]]:
    return [(table.collective.value, table.num_ranks, table.samples[0].time_s) for table in tables]


def test_each_run_is_a_table() -> None:
    text = (
        run("all_reduce_perf", 8, REDUCE_8)
        + run("all_gather_perf", 8, GATHER_8, pid=200)
        + run("all_reduce_perf", 4, REDUCE_4, pid=300)
    )
    tables = reader.read_runs(text, "runs.txt", "all_reduce.txt")
    assert found(tables) == [("all_reduce", 8, 0.005), ("all_gather", 8, 0.0025), ("all_reduce", 4, 0.004)]
    assert all(table.warnings == () for table in tables)


def test_runs_are_told_apart_without_a_list_of_ranks() -> None:
    text = f"{HEADER}\n{REDUCE_8}\n{SUMMARY}\n$ mpirun ./all_gather_perf -b 1G\n{HEADER}\n{GATHER_8}\n"
    tables = reader.read_runs(text, "runs.txt")
    assert found(tables) == [("all_reduce", 8, 0.005), ("all_gather", 8, 0.0025)]


def test_show_says_all_of_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "runs.txt"
    file.write_text(run("all_reduce_perf", 8, REDUCE_8) + run("all_gather_perf", 8, GATHER_8, pid=200), "utf-8")
    assert planner(["show", str(file), "--json"]) == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert [(shown["collective"], shown["num_ranks"]) for shown in runs] == [("all_reduce", 8), ("all_gather", 8)]
    assert planner(["show", str(file)]) == 0
    text = capsys.readouterr().out
    assert "all_reduce over 8 ranks" in text
    assert "all_gather over 8 ranks" in text


def test_a_run_that_failed_is_said_and_the_next_counts() -> None:
    failed = f"# nThread 1\n{ranks(8)}\n{HEADER}\nnode: Test NCCL failure common.cu:958\n"
    (table,) = reader.read_runs(failed + run("all_reduce_perf", 8, REDUCE_8, pid=200), "runs.txt")
    assert (table.num_ranks, len(table.samples)) == (8, 1)
    assert "of its 2 runs, 1 printed no results" in table.warnings


def test_a_call_after_the_last_run_adds_nothing() -> None:
    text = run("all_reduce_perf", 8, REDUCE_8)
    assert reader.read_runs(f"{text}./all_gather_perf -g 8\n", "run.txt") == reader.read_runs(text, "run.txt")


def test_a_trace_that_names_the_program_does_not_end_a_run() -> None:
    text = f"{HEADER}\n{REDUCE_8}\n[ 3] ./all_reduce_perf(main+0x1b)\n{REDUCE_8}\n"
    (table,) = reader.read_runs(text, "run.txt")
    assert len(table.samples) == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{HEADER}\n{REDUCE_8}\n{GATHER_8}\n", "rows are of several collectives or numbers of ranks"),
        (f"{HEADER}\n{GATHER_8}\n{GATHER_8.replace('33554432', '67108864')}\n", "rows are of several collectives"),
        (f"{HEADER}\n{REDUCE_8}\n{REDUCE_8.replace('-1', '0')}\n", "rows are of several collectives"),
        (f"# all_reduce_perf\n{HEADER}\n{GATHER_8}\n", "names all_reduce, but its columns are those of all_gather or"),
        (
            f"{ranks(8)}\n{ranks(8, 500, 'other')}\n{HEADER}\n{REDUCE_8}\n",
            "lists rank 0 twice (process 100 on 'node', 500 on 'other')",
        ),
    ],
)
def test_rows_of_another_run_never_enter(text: str, words: str) -> None:
    with pytest.raises(BadInputError) as refusal:
        reader.read_runs(text, "run.txt")
    assert words in str(refusal.value)


def test_one_rank_looks_like_any_collective() -> None:
    """On one rank the count of an all-gather is that of the whole tensor."""
    row = "1073741824 268435456 float none -1 500.0 2147.5 0.00 0 500.0 2147.5 0.00 0"
    (table,) = reader.read_runs(f"# all_gather_perf\n{ranks(1)}\n{HEADER}\n{row}\n", "run.txt")
    assert (table.collective.value, table.num_ranks) == ("all_gather", 1)


def test_of_a_size_that_repeats_the_median_counts() -> None:
    rows = "\n".join(REDUCE_8.replace("5000.0", time_us) for time_us in ("5000.0", "9000.0", "5100.0"))
    (table,) = reader.read_runs(f"{HEADER}\n{rows}\n", "run.txt")
    assert table.times == ((2**30, 0.0051),)
