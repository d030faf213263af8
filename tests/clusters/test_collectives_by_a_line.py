"""How far one latency and one bandwidth are off the series that presets carry, as docs/clusters.md quotes it."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

import pytest

from costmodel.spec import Source
from planner.clusters.presets import FOLDER
from planner.clusters.table_file import read_table_file

Times = Sequence[tuple[int, float]]
"""(bytes, seconds) in rising order."""
MIN_SIZES = 10
"""Of a series that shows how time grows from latency to bandwidth."""
MIB = 2**20


def series() -> Iterator[Times]:
    for path in sorted((FOLDER / "collectives").glob("*.csv")):
        for table in read_table_file(path.read_text(encoding="utf-8"), path.name, Source.ANALYTIC):
            if len(table.times) >= MIN_SIZES:
                yield table.times


def worst(times: Times) -> tuple[float, int]:
    """The largest factor between a series and the line through its smallest and largest size, and the size it is at."""
    (small, latency_s), *_, (large, time_s) = times
    s_per_byte = (time_s - latency_s) / (large - small)
    by_line = ((size, measured_s, latency_s + s_per_byte * (size - small)) for size, measured_s in times)
    return max((max(line_s / measured_s, measured_s / line_s), size) for size, measured_s, line_s in by_line)


def test_a_series_on_a_line_is_off_by_nothing() -> None:
    # 5 us and 1 us for each KiB.
    assert worst([(1024, 6e-6), (2048, 7e-6), (10240, 15e-6)])[0] == pytest.approx(1.0)
    # In the middle the line says 7 us.
    assert worst([(1024, 6e-6), (2048, 14e-6), (10240, 15e-6)]) == (pytest.approx(2.0), 2048)


def test_a_line_is_as_far_off_as_the_docs_say() -> None:
    found = [worst(times) for times in series()]
    assert len(found) == 93
    assert statistics.median(factor for factor, _ in found) == pytest.approx(1.8, abs=0.05)
    assert sum(MIB <= size <= 16 * MIB for _, size in found) / len(found) == pytest.approx(0.68, abs=0.01)
