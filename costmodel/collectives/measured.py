"""Looks a collective up in the samples of a profile, interpolating between sizes in log-log."""

from __future__ import annotations

from costmodel.collectives.crossings import crossings
from costmodel.collectives.sizes import interpolate
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
    if profile is None or profile.cluster.tiers[:1] != cluster.tiers[:1]:
        return None
    if any(crossing.tier != cluster.tiers[0] for kind in crossings(cluster, num_ranks, stride) for crossing in kind):
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
    return Timed(interpolate(samples, size_bytes), Source.MEASURED if as_measured else Source.FITTED)
