"""Quantities with units: what is read, what is refused, how it is written, and that writing loses only rounding."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costmodel import units
from costmodel.errors import BadInputError

ROUNDING = 0.0051  # three significant digits: at worst 1.00 read for 1.005


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("80 GiB", 80 * 2**30),
        ("80GB", 80 * 10**9),
        ("1.5 kB", 1500),
        (" 512 MiB ", 512 * 2**20),
        ("2e3 B", 2000),
        ("0 B", 0),
    ],
)
def test_bytes_are_read(text: str, expected: int) -> None:
    assert units.parse_bytes(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("400 Gbit/s", 50e9),  # 400e9 / 8
        ("450 GB/s", 450e9),
        ("1 GiB/s", 2.0**30),
        ("400 Gbps", 50e9),
        ("400Gb/s", 50e9),
        ("100 Mbps", 12.5e6),  # 100e6 / 8
        ("3.2 Tb/s", 400e9),  # 3.2e12 / 8
        ("450 GBps", 450e9),
        ("8 bit/s", 1.0),
    ],
)
def test_rates_are_read(text: str, expected: float) -> None:
    assert units.parse_rate(text) == expected


def test_flop_rates_are_read() -> None:
    assert units.parse_flop_rate("989 TFLOP/s") == pytest.approx(989e12)
    assert units.parse_flop_rate("989 TFLOPS") == pytest.approx(989e12)
    assert units.format_flop_rate(989e12) == "989 TFLOP/s"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.5 ms", 1.5e-3),
        ("12 us", 12e-6),
        ("12 µs", 12e-6),
        ("90 s", 90.0),
        ("3 h 12 min", 11520.0),  # 3 x 3600 + 12 x 60
        ("1d2h3min4s", 93784.0),  # 86400 + 7200 + 180 + 4
    ],
)
def test_seconds_are_read(text: str, expected: float) -> None:
    assert units.parse_seconds(text) == pytest.approx(expected)


@pytest.mark.parametrize(
    "text", ["80", "80 G", "80 Gb", "80 gib", "80 GB/s", "", "GiB", "-1 B", "1,5 GiB", "nan B", "1 2"]
)
def test_a_size_with_another_unit_is_refused_with_the_valid_ones(text: str) -> None:
    with pytest.raises(BadInputError, match=r"memory: .*GB.*GiB") as caught:
        units.parse_bytes(text, "memory")
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("text", ["400 G", "400", "400 GB", "400 Gb", "400 gbps", "400 gb/s", "400 mb/s", "400 GT/s"])
def test_a_rate_with_another_unit_is_refused_with_the_valid_ones(text: str) -> None:
    with pytest.raises(BadInputError, match=r"GB/s.*Gbit/s"):
        units.parse_rate(text)


@pytest.mark.parametrize("text", ["3", "3 m", "3 h 12", "h", "3 hours", "3 s!", "3 h x"])
def test_a_duration_with_another_unit_is_refused_with_the_valid_ones(text: str) -> None:
    with pytest.raises(BadInputError, match="us, ms, s, min, h"):
        units.parse_seconds(text)


@pytest.mark.parametrize("text", ["12 min 3 h", "1 s 2 s"])
def test_parts_of_a_duration_stand_in_falling_order(text: str) -> None:
    with pytest.raises(BadInputError, match="largest first"):
        units.parse_seconds(text)


def test_a_number_beyond_floating_point_is_refused() -> None:
    with pytest.raises(BadInputError, match="too large"):
        units.parse_seconds("1e999 s")
    with pytest.raises(BadInputError, match="too large"):
        units.parse_bytes("1e999 B")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (61.2 * 2**30, "61.2 GiB"),
        (80 * 2**30, "80 GiB"),
        (80 * 10**9, "74.5 GiB"),  # 80e9 / 2^30 = 74.506
        (1023.9 * 2**20, "1 GiB"),
        (1000 * 2**20, "1000 MiB"),
        (512, "512 B"),
        (0, "0 B"),
        (-3 * 2**30, "-3 GiB"),
    ],
)
def test_bytes_are_written(value: float, expected: str) -> None:
    assert units.format_bytes(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1.234, "1.23 s"),
        (0.045, "45 ms"),
        (12e-6, "12 us"),
        (3e-9, "3 ns"),
        (0.99999, "1 s"),
        (85.04, "85 s"),
        (119.9, "2 min"),
        (125, "2 min 5 s"),
        (11520, "3 h 12 min"),
        (3599.9, "1 h"),
        (86399.9, "1 d"),
        (93784, "1 d 2 h"),
        (0, "0 s"),
        (-0.045, "-45 ms"),
    ],
)
def test_seconds_are_written(value: float, expected: str) -> None:
    assert units.format_seconds(value) == expected


def test_ranges_share_a_unit() -> None:
    assert units.format_seconds_range(0.95, 1.41) == "0.95 to 1.41 s"
    assert units.format_seconds_range(50, 90) == "50 to 90 s"
    assert units.format_seconds_range(90, 150) == "90 s to 2 min 30 s"
    assert units.format_bytes_range(58.14 * 2**30, 64.3 * 2**30) == "58.1 to 64.3 GiB"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (12300, "12,300"),
        (12345.6, "12,346"),
        (3.75, "3.75"),
        (8.03e9, "8.03 billion"),
        (999_999, "1 million"),
        (0, "0"),
    ],
)
def test_counts_are_written(value: float, expected: str) -> None:
    assert units.format_count(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(0.412, "41.2 %"), (1.0, "100 %"), (0.0, "0 %"), (1e-6, "<0.01 %"), (0.0123, "1.23 %")]
)
def test_shares_are_written(value: float, expected: str) -> None:
    assert units.format_frac(value) == expected


@given(st.floats(min_value=1e-7, max_value=3.0e9))
def test_a_written_duration_reads_back_within_rounding(time_s: float) -> None:
    # Two whole units: at worst 2 min read for 120.5 s, 1 h for 1 h 30 s (0.8 %), 1 d for 1 d 30 min (2.1 %).
    rounding = ROUNDING if time_s < 3600 else 0.5 / 60 if time_s < 86400 else 0.5 / 24
    assert math.isclose(units.parse_seconds(units.format_seconds(time_s)), time_s, rel_tol=rounding)


@given(st.integers(min_value=1, max_value=2**49))
def test_a_written_size_reads_back_within_rounding(size_bytes: int) -> None:
    assert math.isclose(units.parse_bytes(units.format_bytes(size_bytes)), size_bytes, rel_tol=ROUNDING)


@given(st.floats(min_value=1.0, max_value=9e17))
def test_a_written_rate_reads_back_within_rounding(bytes_per_s: float) -> None:
    assert math.isclose(units.parse_rate(units.format_rate(bytes_per_s)), bytes_per_s, rel_tol=ROUNDING)


@given(st.integers(min_value=0, max_value=2**60), st.sampled_from(["B", "kB", "GB", "KiB", "GiB"]))
def test_a_size_is_its_number_times_its_unit(number: int, unit: str) -> None:
    factor = {"B": 1, "kB": 1000, "GB": 1000**3, "KiB": 1024, "GiB": 1024**3}[unit]
    assert math.isclose(units.parse_bytes(f"{number} {unit}"), number * factor, rel_tol=1e-12)


def test_a_number_goes_with_its_noun() -> None:
    assert [units.counted(count, "GPU") for count in (0, 1, 2, 1024)] == ["0 GPUs", "1 GPU", "2 GPUs", "1,024 GPUs"]
