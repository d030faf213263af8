"""Fits tiers to a number of devices: units end where machines do, and outer tiers that join nothing are left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from costmodel.spec import NodeGroup, Tier


def fitted(tiers: Sequence[Tier], groups: Sequence[NodeGroup], num_devices: int) -> tuple[Tier, ...]:
    """`tiers` around `num_devices` devices: units cut at the ends of unequal machines, outer tiers that join nothing
    left out."""
    sizes = [group.node.num_devices for group in groups for _ in range(group.num_nodes)]
    differ = len(set(sizes[:-1])) > 1 or sizes[-1] > sizes[0]
    found: list[Tier] = []
    for tier in tiers:
        changes: dict[str, Any] = {"num_devices": min(tier.num_devices, num_devices)}
        if tier.unit_sizes:
            units = first_units(tier.unit_sizes, num_devices)
            changes = {"num_devices": max(units), "unit_sizes": units if len(set(units)) > 1 else ()}
        elif tier.num_devices <= max(sizes) and (differ or sizes[0] % tier.num_devices):
            units = tuple(part for size in sizes for part in tier.sizes(size))
            changes = {"num_devices": max(units), "unit_sizes": units}
        if not found or changes["num_devices"] > found[-1].num_devices:
            found.append(resized(tier, **changes))
    return tuple(found)


def resized(tier: Tier, num_devices: int, **changes: Any) -> Tier:
    """`tier` around as many devices; of a mesh they keep the links to the peers that are left."""
    if tier.is_mesh:
        share = max(1, num_devices - 1) / max(1, tier.num_devices - 1)
        changes["bandwidth_bytes_per_s"] = share * tier.bandwidth_bytes_per_s
    return tier.model_copy(update={"num_devices": num_devices, **changes})


def first_units(units: Sequence[int], num_devices: int) -> tuple[int, ...]:
    """The units of the first `num_devices` devices."""
    found, left = [], num_devices
    for size in units:
        if left <= 0:
            break
        found.append(min(size, left))
        left -= size
    return tuple(found)
