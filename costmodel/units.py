"""The one parser and the one formatter of quantities with units.

Inside the program a quantity is a plain number in seconds, bytes, bytes per second or FLOP per second. Text with a
unit enters through a `parse_` function and leaves through a `format_` function, so that a unit is spelled and rounded
the same way on every page. GB (10^9 bytes) and GiB (2^30 bytes) are different words, and so are GB/s and Gbit/s.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from costmodel.errors import BadInputError
from costmodel.spec.shown import shown

_DECIMAL_PREFIXES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BINARY_PREFIXES = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}

_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(frozen=True)
class _Units:
    """What a quantity may be written in."""

    factors: dict[str, float]
    """Of every spelling; upper and lower case say different things (`GB/s`, `Gb/s`), so both must be right."""
    in_words: str
    """The spellings, the rarer prefixes left out."""


def _spelled(prefixes: dict[str, float], *spellings: str) -> dict[str, float]:
    return {f"{prefix}{spelling}": factor for spelling in spellings for prefix, factor in prefixes.items()}


_PREFIXES = {**_DECIMAL_PREFIXES, **_BINARY_PREFIXES}
_BYTES = _Units(_spelled(_PREFIXES, "B"), "GB, GiB, with k, M, T, P for G")
_RATES = _Units(
    {
        **_spelled(_PREFIXES, "B/s", "Bps"),
        **{name: bits / 8 for name, bits in _spelled(_DECIMAL_PREFIXES, "bit/s", "Bit/s", "b/s", "bps").items()},
    },
    "GB/s (or GBps), GiB/s, Gbit/s (or Gb/s, Gbps), with k, M, T, P for G",
)
_FLOP_RATES = _Units(
    _spelled({**_DECIMAL_PREFIXES, "E": 1e18}, "FLOP/s", "FLOPS"), "TFLOP/s (or TFLOPS), with k, M, G, P, E for T"
)
_DURATIONS = _Units(_SECONDS, ", ".join(_SECONDS))

_MINUTES_FROM_S = 119.5

_NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_QUANTITY = re.compile(rf"\s*({_NUMBER})\s*([^\s0-9]\S*)?\s*")
_SECOND_PART = re.compile(rf"({_NUMBER})\s*([A-Za-zµμ]+)\s*")  # two Unicode letters for micro are in use


def parse_bytes(text: str, where: str = "size") -> int:
    """Bytes of a size such as `80 GiB` or `1.5 GB`, rounded to a whole byte.

    `where` names the origin in errors. Raises BadInputError where the unit is missing, unknown or could mean two
    things (`80 G`), or where the number is not a plain non-negative decimal.
    """
    return round(_parse(text, where, _BYTES))


def parse_rate(text: str, where: str = "bandwidth") -> float:
    """Bytes per second of a bandwidth such as `400 Gbit/s` or `450 GB/s`; raises BadInputError as `parse_bytes`."""
    return _parse(text, where, _RATES)


def parse_flop_rate(text: str, where: str = "peak") -> float:
    """FLOP per second of a peak such as `989 TFLOP/s`; raises BadInputError as `parse_bytes`."""
    return _parse(text, where, _FLOP_RATES)


def parse_seconds(text: str, where: str = "duration") -> float:
    """Seconds of a duration such as `1.5 ms` or `3 h 12 min`; several parts add up, the largest unit first.

    Raises BadInputError as `parse_bytes`, and where the parts are not in falling order of unit.
    """
    total_s, last_unit_s, position = 0.0, math.inf, 0
    stripped = text.strip()
    while match := _SECOND_PART.match(stripped, position):
        unit_s = _factor(text, where, match[2].translate({ord("µ"): "u", ord("μ"): "u"}), _DURATIONS)
        if unit_s >= last_unit_s:
            raise BadInputError(f"{where}: {shown(text)} must name each unit once, the largest first: '3 h 12 min'")
        total_s, last_unit_s, position = total_s + float(match[1]) * unit_s, unit_s, match.end()
    if position == 0 or position < len(stripped):
        return _parse(text, where, _DURATIONS)
    return _finite(total_s, text, where)


def format_bytes(size_bytes: float) -> str:
    """A size in binary units to three significant digits, e.g. `61.2 GiB`; negative for a difference."""
    unit, factor = byte_unit(size_bytes)
    return f"{format_number(size_bytes / factor)} {unit}"


def format_rate(bytes_per_s: float) -> str:
    """A bandwidth in decimal units, e.g. `450 GB/s`; links are sold in powers of ten."""
    return _format_decimal(bytes_per_s, "B/s")


def format_flop_rate(flop_per_s: float) -> str:
    """An arithmetic rate, e.g. `989 TFLOP/s`."""
    return _format_decimal(flop_per_s, "FLOP/s")


def format_seconds(time_s: float) -> str:
    """Time to three significant digits (`1.23 s`, `45 ms`), from two minutes on two whole units (`3 h 12 min`)."""
    if abs(time_s) < _MINUTES_FROM_S:
        unit, factor = second_unit(time_s)
        return f"{format_number(time_s / factor)} {unit}"
    sign = "-" if time_s < 0 else ""
    for large, small, in_next in (("min", "s", 60), ("h", "min", 24), ("d", "h", math.inf)):
        whole, rest = divmod(round(abs(time_s) / _SECONDS[small]), round(_SECONDS[large] / _SECONDS[small]))
        if whole < in_next:
            break
    return f"{sign}{whole} {large}" + (f" {rest} {small}" if rest else "")


def format_seconds_range(low_s: float, high_s: float) -> str:
    """An interval in one unit, e.g. `1.05 to 1.41 s`; from two minutes on, each bound has its own."""
    if high_s >= _MINUTES_FROM_S:
        return f"{format_seconds(low_s)} to {format_seconds(high_s)}"
    unit, factor = second_unit(high_s)
    return f"{format_number(low_s / factor)} to {format_number(high_s / factor)} {unit}"


def format_bytes_range(low_bytes: float, high_bytes: float) -> str:
    """An interval of sizes in the unit of the larger, e.g. `58.1 to 64.3 GiB`."""
    unit, factor = byte_unit(high_bytes)
    return f"{format_number(low_bytes / factor)} to {format_number(high_bytes / factor)} {unit}"


def format_count(count: float) -> str:
    """A number of things: whole with separators up to a million (`12,300`), then in words (`8.03 billion`)."""
    for factor, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if abs(count) >= factor * 0.9995:
            return f"{format_number(count / factor)} {word}"
    return format_number(count) if count != round(count) and abs(count) < 100 else f"{round(count):,}"


def counted(count: int, noun: str) -> str:
    """`1 GPU` or `2 GPUs`: a number with its noun, whose plural ends in s."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def format_frac(fraction: float) -> str:
    """A share as percent, e.g. `41.2 %`; a share too small to show is `<0.01 %`, not zero."""
    if 0 < abs(fraction) < 0.00005:
        return "<0.01 %" if fraction > 0 else ">-0.01 %"
    return f"{format_number(100 * fraction)} %"


def format_number(value: float) -> str:
    """A bare number to three significant digits, at most two after the point, without trailing zeros."""
    decimals = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    text = f"{value:.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if decimals else text
    return "0" if text == "-0" else text


def byte_unit(size_bytes: float) -> tuple[str, int]:
    """The binary unit in which `size_bytes` reads best, and its bytes: the unit for a whole table or axis."""
    for prefix, factor in reversed(_BINARY_PREFIXES.items()):
        if abs(size_bytes) >= factor * 0.9995:
            return f"{prefix}B", factor
    return "B", 1


def second_unit(time_s: float) -> tuple[str, float]:
    """The unit of at most one second in which `time_s` reads best, and its seconds."""
    for unit in ("s", "ms", "us"):
        if abs(time_s) >= _SECONDS[unit] * 0.9995:
            return unit, _SECONDS[unit]
    return ("ns", 1e-9) if time_s else ("s", 1.0)


def _format_decimal(value: float, unit: str) -> str:
    fitting = (prefix for prefix, factor in reversed(_DECIMAL_PREFIXES.items()) if abs(value) >= factor * 0.9995)
    prefix = next(fitting, "")
    return f"{format_number(value / _DECIMAL_PREFIXES[prefix])} {prefix}{unit}"


def _parse(text: str, where: str, units: _Units) -> float:
    match = _QUANTITY.fullmatch(text)
    if not match:
        raise BadInputError(f"{where}: {shown(text)} is not a number with a unit; units are {units.in_words}")
    return _finite(float(match[1]) * _factor(text, where, match[2] or "", units), text, where)


def _factor(text: str, where: str, unit: str, units: _Units) -> float:
    if unit in units.factors:
        return units.factors[unit]
    fault = f"unit {shown(unit)} is not known or could mean two things" if unit else "there is no unit"
    raise BadInputError(f"{where}: in {shown(text)} {fault}; write {units.in_words}")


def _finite(value: float, text: str, where: str) -> float:
    if not math.isfinite(value):
        raise BadInputError(f"{where}: {shown(text)} is too large to be a number")
    return value
