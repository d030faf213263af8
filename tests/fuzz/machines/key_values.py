"""Replaces values of keys in a cluster file by values of other types, as people and scripts do."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import yaml

VALUES: tuple[Any, ...] = (
    0, -1, 1, 3, 7, 2**31, 10**18, 0.5, -0.5, 1e30, True, False, None, "", "x", "8", "8 GiB", "400 Gbit/s", "5 us", [],
    [1], ["x"], [[]], [None], [{}], {}, {"a": 1}, {"name": "x"}, "nvlink", "ethernet", "h100-sxm", "topo.txt",
    "x" * 3000,
)  # fmt: skip


def replace_values(rng: random.Random, content: bytes) -> bytes | None:
    """The file with one to three values replaced or keys left out; None where it holds no object."""
    try:
        data = yaml.safe_load(content)  # JSON is read as well.
    except (yaml.YAMLError, ValueError):
        return None
    if not isinstance(data, dict):
        return None
    for _ in range(rng.choice((1, 1, 2, 3))):
        holder, key = rng.choice(list(_places(data)) or [(data, "name")])
        if rng.random() < 0.1 and isinstance(holder, dict):
            holder.pop(key, None)
        elif rng.random() < 0.03 and isinstance(holder, dict):
            holder[str(key) + "x" * 3000] = holder.pop(key, None)
        else:
            holder[key] = copy.deepcopy(rng.choice(VALUES))
    # YAML takes what JSON writes.
    return json.dumps(data, indent=1, default=str).encode()


def _places(data: Any) -> Any:
    """Every container with each of its keys or places, outer ones first."""
    for key in list(data) if isinstance(data, dict) else range(len(data)):
        yield data, key
        if isinstance(data[key], dict | list):
            yield from _places(data[key])
