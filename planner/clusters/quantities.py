"""Quantities of a cluster file: texts with units become numbers, and every number lies in a range that can be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from costmodel.errors import BadInputError
from costmodel.spec.cluster import MAX_CLUSTER_DEVICES
from costmodel.spec.shown import shown_key
from costmodel.units import parse_bytes, parse_flop_rate, parse_rate, parse_seconds

MAX_NUMBER = 2**63

PARSERS: dict[str, Callable[[str, str], float]] = {
    "memory_bytes": parse_bytes,
    "memory_reserved_bytes": parse_bytes,
    "host_memory_bytes": parse_bytes,
    "mem_bandwidth_bytes_per_s": parse_rate,
    "bandwidth_bytes_per_s": parse_rate,
    "peer_link_bytes_per_s": parse_rate,
    "pcie_bytes_per_s": parse_rate,
    "write_bytes_per_s": parse_rate,
    "read_bytes_per_s": parse_rate,
    "total_write_bytes_per_s": parse_rate,
    "latency_s": parse_seconds,
    "peak_flop_per_s": parse_flop_rate,
}
"""Keys whose values may be written as text with a unit; a mapping under such a key is read value by value."""

RATE = (1e3, 1e18)

RANGES = {
    "memory_bytes": (1e6, 1e15),
    "host_memory_bytes": (1e6, 1e18),
    "mem_bandwidth_bytes_per_s": (1e6, 1e18),
    "bandwidth_bytes_per_s": RATE,
    "peer_link_bytes_per_s": RATE,
    "pcie_bytes_per_s": RATE,
    "write_bytes_per_s": RATE,
    "read_bytes_per_s": RATE,
    "total_write_bytes_per_s": RATE,
    "latency_s": (1e-12, 10.0),
    "peak_flop_per_s": (1e6, 1e21),
    "gemm_efficiency_frac": (1e-3, 1.0),
    "attention_efficiency_frac": (1e-3, 1.0),
    "num_devices": (1, MAX_CLUSTER_DEVICES),
    "devices_per_node": (1, MAX_CLUSTER_DEVICES),
    "num_nodes": (1, MAX_CLUSTER_DEVICES),
    "unit_sizes": (1, MAX_CLUSTER_DEVICES),
    "count": (1, 1024),
    "num_cores": (1, 1e6),
    "power_w": (0.1, 1e9),
    "price_usd_per_device_hour": (0, 1e6),
    "failures_per_day": (0, 1e4),
}
"""Smallest and largest value of a key, far beyond any machine there is: outside of them a unit was mistaken."""


FLAGS = {"is_mesh", "peer_access"}

TEXTS = {"sources"}
"""Keys whose values name quantities, but hold only texts."""


def with_units(key: str, value: Any, where: str) -> Any:
    """`value` with every text of a known quantity turned into a number in its range; the rest is left to validation."""
    if key in TEXTS:
        return value
    if isinstance(value, dict) and key in PARSERS:
        return {inner: with_units(key, item, where) for inner, item in value.items()}
    if isinstance(value, dict):
        return {inner: with_units(inner, item, where) for inner, item in value.items()}
    if isinstance(value, list):
        return [with_units(key, item, where) for item in value]
    if isinstance(value, bool) and key not in FLAGS:
        # YAML takes yes, no, on and off for these, and a number field would take them for 1 and 0.
        raise BadInputError(
            f"{where}: {shown_key(key)} is {str(value).lower()}, but it is no key that is true or false"
        )
    if isinstance(value, str) and key in PARSERS:
        try:
            value = float(value)  # YAML takes 1e12 for a text; the key says the unit
        except ValueError:
            value = PARSERS[key](value, f"{where}: {key}")
    if isinstance(value, bool):
        return value
    low, high = RANGES.get(key, (-MAX_NUMBER, MAX_NUMBER))
    if isinstance(value, int | float) and not low <= value <= high:
        # A whole number can be too large for a float, and then for a format, too.
        shown = "far too large" if isinstance(value, int) and abs(value) > 10**300 else f"{value:g}"
        raise BadInputError(f"{where}: {shown_key(key)} is {shown}, but must be from {low:g} to {high:g}")
    return value
