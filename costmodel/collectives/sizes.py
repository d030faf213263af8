"""Times between the sizes that were measured."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence


def interpolate(samples: Sequence[tuple[int, float]], size_bytes: float) -> float:
    """The time at `size_bytes` from (bytes, seconds) of different sizes in rising order.

    Between two sizes it is interpolated in log-log, below the smallest it is that of the smallest, above the largest
    it grows with the bytes.
    """
    smallest_bytes, smallest_s = samples[0]
    largest_bytes, largest_s = samples[-1]
    if size_bytes <= smallest_bytes:
        return smallest_s
    if size_bytes >= largest_bytes:
        return largest_s * size_bytes / largest_bytes
    upper = bisect_left(samples, size_bytes, key=lambda sample: sample[0])
    (low_bytes, low_s), (high_bytes, high_s) = samples[upper - 1], samples[upper]
    share = math.log(size_bytes / low_bytes) / math.log(high_bytes / low_bytes)
    return float(low_s * (high_s / low_s) ** share)
