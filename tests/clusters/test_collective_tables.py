"""How far the model is off where a published series is left out, and the tables that presets carry."""

from __future__ import annotations

import math
import statistics
from pathlib import Path

import pytest

from costmodel.collectives import by_formula, tables
from costmodel.errors import BadInputError
from costmodel.spec import ClusterSpec, Collective, CollectiveTable, Source
from planner.clusters.presets import FOLDER
from planner.clusters.read import load_cluster
from planner.clusters.table_file import read_table_file

SWITCHED = ("a100-sxm-80gb", "h100-sxm", "h200-sxm", "b200")
FROM_BYTES = 2**14


def errors(name: str, *, with_tables: bool) -> list[float]:
    """By which factor every point inside a node is missed, either way, its own series left out."""
    spec = load_cluster(name, 8).spec
    found = []
    for left_out in spec.tables:
        others = tuple(table for table in spec.tables if table is not left_out) if with_tables else ()
        if (left_out.num_nodes or 1) > 1 or _is_fitted(left_out):
            continue
        for size, time_s in left_out.times:
            if size >= FROM_BYTES:
                found.append(math.exp(abs(math.log(_predicted_s(spec, others, left_out, size) / time_s))))
    return found


def _is_fitted(table: CollectiveTable) -> bool:
    """Whether the links of the presets were fitted to such a series."""
    return table.num_ranks == 8 and table.collective in (Collective.ALL_GATHER, Collective.REDUCE_SCATTER)


def _predicted_s(spec: ClusterSpec, others: tuple[CollectiveTable, ...], left_out: CollectiveTable, size: int) -> float:
    known = spec.model_copy(update={"tables": others})
    op, num_ranks = left_out.collective, left_out.num_ranks
    assert num_ranks is not None
    timed = tables.lookup(known, op, num_ranks, 1, size) or by_formula(known, op, num_ranks, 1, size)
    return timed.time_s


def test_a_series_that_is_left_out_is_predicted_from_the_others() -> None:
    """The figures that docs/clusters.md quotes; all-reduce, all-gather, reduce-scatter and all-to-all over 2, 4, 8."""
    found = sorted(error for name in SWITCHED for error in errors(name, with_tables=True))
    assert statistics.median(found) == pytest.approx(1.08, abs=0.005)
    assert found[round(0.9 * (len(found) - 1))] == pytest.approx(1.26, abs=0.005)


def test_without_tables_the_model_is_as_far_off_as_its_docstring_states() -> None:
    found = sorted(error for name in SWITCHED for error in errors(name, with_tables=False))
    assert statistics.median(found) == pytest.approx(1.23, abs=0.005)
    assert found[round(0.9 * (len(found) - 1))] == pytest.approx(1.61, abs=0.005)


@pytest.mark.parametrize("path", sorted((FOLDER / "collectives").glob("*.csv")), ids=lambda path: path.stem)
def test_every_table_of_a_preset_states_its_source_and_is_sound(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# ")
    for table in read_table_file(text, path.name, Source.ANALYTIC):
        assert len(table.times) == len(table.samples)
        # No more than half again what a GPU of 18 fifth-generation NVLinks sends, which switches that sum may reach.
        assert all(sample.busbw_bytes_per_s < 1.35e12 for sample in table.samples)


def test_every_published_file_belongs_to_a_preset() -> None:
    named = {
        line
        for path in FOLDER.rglob("*.yaml")
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.startswith("collectives:")
    }
    listed = " ".join(named)
    assert all(f"collectives/{path.name}" in listed for path in (FOLDER / "collectives").glob("*.csv"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "its columns are"),
        ("a,b\n", "its columns are"),
        ("HEADER\n", "has columns and no row"),
        ("HEADER\nall_reduce,8,1,1024\n", "line 3: has 4 cells"),
        ("HEADER\nall_reduce,8,1,1024,fast\n", "line 3: time_us is 'fast'"),
        ("HEADER\nall_reduce,8,1,1024,0\n", "line 3: time_us is '0'"),
        ("HEADER\nall_reduce,8,1,1024,nan\n", "line 3: time_us is 'nan'"),
        ("HEADER\nall_reduce,8,3,1024,5\n", "8 ranks on 3 machines"),
        ("HEADER\nall_reduce,1,1,1024,5\n", "1 ranks on 1 machines"),
        ("HEADER\nallreduce,8,1,1024,5\n", "collective is 'allreduce'"),
        ("HEADER\nall_reduce,-8,1,1024,5\n", "num_ranks is '-8'"),
        ("HEADER\nall_reduce,8,1,1e3,5\n", "bytes is '1e3'"),
    ],
)
def test_a_faulty_table_is_refused_by_its_line(text: str, words: str) -> None:
    full = "# a source\n" + text.replace("HEADER", "collective,num_ranks,num_nodes,bytes,time_us")
    with pytest.raises(BadInputError, match=words):
        read_table_file(full, "t.csv", Source.MEASURED)


def test_rows_become_tables_by_operation_and_group() -> None:
    text = "collective,num_ranks,num_nodes,bytes,time_us\nall_reduce,8,1,1000,10\nall_reduce,16,2,1000,20\n"
    first, second = read_table_file(text, "t.csv", Source.MEASURED)
    assert (first.collective, first.num_ranks, first.num_nodes) == (Collective.ALL_REDUCE, 8, 1)
    # 1,000 bytes in 10 us are 1e8 bytes/s, and 2 (8 - 1) / 8 of that on the bus.
    assert first.samples[0].busbw_bytes_per_s == pytest.approx(1.75e8)
    assert second.num_nodes == 2
