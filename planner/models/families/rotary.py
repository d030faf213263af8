"""Checks that rotary position embeddings can be computed, for classes that may rotate only a part of each head."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from planner.models.config import Config, shown
from planner.models.keys import Source
from planner.models.rope import check_rope

SHARE = "partial_rotary_factor"
"""The key of the share of a head's dimensions that are rotated."""
LAYER_TYPES = ("full_attention", "sliding_attention", "chunked_attention")
"""Keys of `rope_parameters` where each sort of block has angles of its own."""


def rotates(head_dim: Source, share: float = 1.0) -> Callable[[Config], None]:
    """A check of the angles of heads of `head_dim`, of which `share` is rotated where the config says nothing."""

    def check(config: Config) -> None:
        parameters = config.data.get("rope_parameters")
        values = parameters if isinstance(parameters, dict) else {}
        nested = [name for name in LAYER_TYPES if isinstance(values.get(name), dict)]
        if not nested:
            _check(config, config.data, "", head_dim.read(config, 0), share)
        for name in nested:
            data = {**config.data, "rope_parameters": values[name]}
            _check(config, data, f"rope_parameters.{name}", head_dim.read(config, 0), share)

    return check


def _check(config: Config, data: Mapping[str, Any], section: str, head_dim: int, share: float) -> None:
    path = ".".join(part for part in (config.place("").rstrip("."), section) if part)
    objects = [data, *(data[key] for key in ("rope_scaling", "rope_parameters") if isinstance(data.get(key), dict))]
    for values in objects:
        share = share if values.get(SHARE) is None else values[SHARE]
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
            config.fail(
                f"{path + '.' if path else ''}{SHARE} is {shown(share)}, but must be a number above 0, at most 1"
            )
    rotated = int(head_dim * share)
    if rotated == head_dim and head_dim % 2:
        config.fail(f"heads have {head_dim} dimensions, but rotary position embeddings need an even number")
    if rotated == 0:
        config.fail(
            f"{SHARE} is {shown(share)}, which rotates no dimension of heads of {head_dim}; give a larger share"
        )
    # An odd part is rounded up to whole pairs of dimensions.
    check_rope(_without_share(data), rotated + rotated % 2, f"{config.where}: {path}" if path else config.where)


def _without_share(data: Mapping[str, Any]) -> dict[str, Any]:
    """`data` as if whole heads were rotated: the share is accounted for."""
    return {
        key: _without_share(value) if isinstance(value, dict) and key in ("rope_scaling", "rope_parameters") else value
        for key, value in data.items()
        if key != SHARE
    }
