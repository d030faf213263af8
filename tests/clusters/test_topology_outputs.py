"""Every sample of `nvidia-smi topo -m` and `rocm-smi` becomes what it is expected to, and odd ones are named."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from costmodel.errors import BadInputError
from costmodel.spec.topology import NodeTopology, PathKind
from planner.clusters.topology import nvidia_smi, rocm_smi

SAMPLES = Path(__file__).parent / "topology"
ROWS = list(csv.DictReader((SAMPLES / "expected.csv").open(encoding="utf-8")))

TWO_PAIRS = """\
        GPU0    GPU1    GPU2    GPU3    CPU Affinity    NUMA Affinity
GPU0     X      NV4     SYS     SYS     0-15    0
GPU1    NV4      X      SYS     SYS     0-15    0
GPU2    SYS     SYS      X      NV4     16-31   1
GPU3    SYS     SYS     NV4      X      16-31   1
"""


def read(text: str) -> NodeTopology:
    reader = rocm_smi if rocm_smi.looks_like(text) else nvidia_smi
    return reader.read(text, "topo.txt")


def labels(topology: NodeTopology) -> str:
    return " ".join(f"{count}x{label}" for label, count in sorted(Counter(p.label for p in topology.pairs).items()))


def test_every_sample_is_expected_to_become_something() -> None:
    files = sorted(path.name for path in SAMPLES.glob("*.txt"))
    assert [row["file"] for row in ROWS] == files
    assert [row["file"] for row in csv.DictReader((SAMPLES / "sources.csv").open(encoding="utf-8"))] == files


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["file"])
def test_a_sample_becomes_what_is_expected(row) -> None:
    text = (SAMPLES / row["file"]).read_text(encoding="utf-8")
    if row["refused"]:
        with pytest.raises(BadInputError) as refusal:
            read(text)
        assert str(refusal.value) == row["refused"].replace(row["file"], "topo.txt")
        return
    found = read(text)
    assert (len(found.gpus), len(found.nics)) == (int(row["num_gpus"]), int(row["num_nics"]))
    assert labels(found) == row["links"]
    assert " | ".join(found.warnings) == row["warnings"]


@pytest.mark.parametrize(
    "dialect",
    [
        TWO_PAIRS.replace("    ", "\t"),
        "\n\n" + TWO_PAIRS,
        TWO_PAIRS.replace("\n", "\r\n"),
        "\n".join("0: " + line for line in TWO_PAIRS.splitlines()),
        "\n".join("[1,0]<stdout>:" + line for line in TWO_PAIRS.splitlines()),
        "\n".join(" ".join(line.split()) for line in TWO_PAIRS.splitlines()),
        TWO_PAIRS.replace("NV4     SYS     SYS", "NV4SYSSYS").replace("SYS     SYS      X", "SYSSYSX"),
        TWO_PAIRS.replace("SYS", "SOC"),
        "\x1b[4m" + TWO_PAIRS.replace("Affinity\n", "Affinity\x1b[0m\n"),
        TWO_PAIRS.replace("    CPU Affinity    NUMA Affinity", "").replace("     0-15    0", ""),
        TWO_PAIRS.replace(" ", "\u00a0"),
        "$ nvidia-smi topo -m\n" + TWO_PAIRS + "\nLegend:\n\n  X    = Self\n  NV#  = Connection of # NVLinks\n",
    ],
)
def test_dialects_say_the_same(dialect: str) -> None:
    found = read(dialect)
    assert labels(found) == "2xNV4 4xSYS"
    assert found.between("GPU3", "GPU2").num_links == 4
    assert found.warnings == ()


def test_affinities_and_names_of_adapters_are_kept() -> None:
    found = read((SAMPLES / "h200x8_gcp_a3ultra_8roce_ansi_tabs.txt").read_text(encoding="utf-8"))
    assert (found.numa_of_gpu["GPU3"], found.numa_of_gpu["GPU4"]) == ("0", "1")
    assert found.nic_devices["NIC7"] == "rocep206s0"


def test_cells_that_contradict_each_other_are_named_and_the_slower_counts() -> None:
    found = read(TWO_PAIRS.replace("GPU1    NV4 ", "GPU1    NV2 "))
    assert found.between("GPU0", "GPU1").num_links == 2
    assert found.warnings == ("the two cells of GPU0 and GPU1 contradict each other; the slower one counts",)


def test_a_missing_row_of_a_gpu_is_filled_by_symmetry_and_named() -> None:
    found = read("\n".join(TWO_PAIRS.splitlines()[:-1]))
    assert labels(found) == "2xNV4 4xSYS"
    assert found.warnings == ("rows of GPU3 are missing: the output is truncated",)


def test_what_is_cut_away_stays_unknown() -> None:
    found = read("\n".join(TWO_PAIRS.splitlines()[:2]))
    assert labels(found) == "1xNV4 2xSYS"
    assert "what joins GPU1 and GPU2, GPU1 and GPU3, GPU2 and GPU3 is not said" in found.warnings[-1]


@pytest.mark.parametrize("cell", ["N/A", "ERR!", "[SYS]", "FOO"])
def test_a_cell_that_is_none_is_named_and_the_rest_is_read(cell: str) -> None:
    # Of GPU0 and GPU3 the other cell still tells; of GPU1 and GPU2 none does.
    rows = TWO_PAIRS.splitlines()
    rows[1] = rows[1].replace("SYS     SYS ", f"SYS     {cell} ")
    rows[2] = rows[2].replace("X      SYS", f"X      {cell}")
    rows[3] = rows[3].replace("SYS     SYS ", f"SYS     {cell} ")
    found = read("\n".join(rows))
    assert labels(found) == "2xNV4 3xSYS"
    assert found.between("GPU1", "GPU2") is None
    assert found.numa_of_gpu["GPU1"] == "0"
    assert found.warnings == tuple(
        f"row {row} holds '{cell}' for {column}, which is no link that is known"
        for row, column in (("GPU0", "GPU3"), ("GPU1", "GPU2"), ("GPU2", "GPU1"))
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not the output of `nvidia-smi topo -m`"),
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", "no line lists GPU0"),
        (TWO_PAIRS.splitlines()[0], "has no row of a GPU"),
        (TWO_PAIRS + TWO_PAIRS.splitlines()[1], "two rows of GPU0: it holds more than one machine"),
        (
            "\n".join(f"{host}: {line}" for line in TWO_PAIRS.splitlines() for host in ("a", "b")),
            "more than one machine",
        ),
        (TWO_PAIRS.replace("GPU1    GPU2", "GPU1    GPU1"), "names GPU1 twice"),
        ("\t" + "\t".join(f"GPU{index}" for index in range(2000)), "one machine has at most 1024"),
        ("== Link Type between two GPUs ==\n GPU0 GPU1\nGPU0 0 FOO\n", "row GPU0 holds FOO"),
        ("== Link Type between two GPUs ==\n", "names no GPUs"),
        ("== Link Type between two GPUs ==\n GPU0 GPU1\n", "has no rows"),
    ],
)
def test_another_text_is_refused_in_one_sentence(text: str, words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        read(text)


def test_nvlink_is_nearer_than_any_way_over_pcie() -> None:
    kinds = list(PathKind)
    assert kinds.index(PathKind.NVLINK) < kinds.index(PathKind.PIX) < kinds.index(PathKind.SYS)
    assert [kind for kind in kinds if kind.is_direct] == [PathKind.NVLINK, PathKind.XGMI]
