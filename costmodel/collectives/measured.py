"""Looks a collective up in the samples of a profile, interpolating between sizes in log-log."""

from __future__ import annotations

import math
from collections.abc import Sequence

from costmodel.price import Timed
from costmodel.setting import Setting
from costmodel.spec import Collective, Source


def lookup(setting: Setting, op: Collective, num_ranks: int, stride: int, size_bytes: float) -> Timed | None:
    """The measured time, or None where the profile did not measure such a group.

    A profile speaks for groups inside one of its machines. Between two measured sizes the time is interpolated, below
    the smallest it is that of the smallest, above the largest it grows with the bytes. Only the time of a size that was
    measured, between neighbouring ranks as they were, counts as measured; any other is fitted.
    """
    profile, cluster = setting.profile, setting.cluster
    if profile is None or profile.cluster.tiers[0] != cluster.tiers[0]:
        return None
    if cluster.tier_of(num_ranks, stride) != cluster.tiers[0]:
        return None
    measured_ranks = 2 if op is Collective.SEND_RECV else num_ranks
    samples = sorted(
        (sample.size_bytes, sample.time.median_s)
        for sample in profile.collectives
        if sample.op is op and sample.num_ranks == measured_ranks
    )
    if not samples:
        return None
    as_measured = stride == 1 and any(size == size_bytes for size, _ in samples)
    return Timed(_interpolate(samples, size_bytes), Source.MEASURED if as_measured else Source.FITTED)


def _interpolate(samples: Sequence[tuple[int, float]], size_bytes: float) -> float:
    """The time at `size_bytes` from (size, time) in rising order."""
    smallest_bytes, smallest_s = samples[0]
    largest_bytes, largest_s = samples[-1]
    if size_bytes <= smallest_bytes:
        return smallest_s
    if size_bytes >= largest_bytes:
        return largest_s * size_bytes / largest_bytes
    upper = next(index for index, (size, _) in enumerate(samples) if size >= size_bytes)
    (low_bytes, low_s), (high_bytes, high_s) = samples[upper - 1], samples[upper]
    share = math.log(size_bytes / low_bytes) / math.log(high_bytes / low_bytes)
    return float(low_s * (high_s / low_s) ** share)
