"""The tiers that a file states, each read once, before anybody knows how many devices they join."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from costmodel.errors import BadInputError
from costmodel.spec import Source, Tier
from costmodel.spec.cluster import MAX_CLUSTER_DEVICES

STATED = "stated in the file"
"""Note of a link that a file states without one."""


@dataclass(frozen=True)
class StatedTiers:
    """Tiers from the innermost to the outermost."""

    tiers: tuple[Tier, ...]
    is_open: bool
    """Whether the outermost joins all devices, however many there are."""
    without_source: frozenset[str]
    """Names of those whose source nobody states."""

    @property
    def closed(self) -> tuple[Tier, ...]:
        """Those that say how many devices they join."""
        return self.tiers[:-1] if self.is_open else self.tiers

    @property
    def inside(self) -> tuple[Tier, ...]:
        """Those of machines, or of racks of one NVLink domain, that say how many devices they join."""
        return tuple(tier for tier in self.closed if not tier.link.is_network)


def read_stated_tiers(given: Any, where: str) -> StatedTiers | None:
    """What stands under the key `tiers`, None where nothing does; the outermost may leave out its number of devices.

    Raises BadInputError naming the tier at fault.
    """
    if given is None:
        return None
    if not isinstance(given, list) or not given or not all(isinstance(tier, dict) for tier in given):
        raise BadInputError(f"{where}: tiers must be a list of links from the innermost to the outermost")
    is_open = "num_devices" not in given[-1]
    default = {"num_devices": MAX_CLUSTER_DEVICES} if is_open else {}
    found = [
        stated_tier({**(default if index == len(given) - 1 else {}), **entry}, f"{where}: tiers.{index}")
        for index, entry in enumerate(given)
    ]
    return StatedTiers(
        tuple(tier for tier, _ in found), is_open, frozenset(tier.name for tier, has_source in found if not has_source)
    )


def stated_tier(entry: dict[str, Any], place: str) -> tuple[Tier, bool]:
    """The tier that `entry` states, and whether it says what its figures rest on; else they count as assumed."""
    has_source = entry.get("source") is not None
    unknown = {} if has_source else {"source": Source.ASSUMED}
    note = {} if entry.get("note") else {"note": "" if has_source else STATED}
    return Tier.from_data({**entry, **unknown, **note}, place), has_source
