"""Fits latency and bandwidth of a link to measured collectives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from costmodel.spec import Collective, CollectiveSample

FITTED_OPS = (Collective.ALL_GATHER, Collective.SEND_RECV)
"""Operations that only move data; reductions also compute."""


@dataclass(frozen=True)
class AlphaBeta:
    """A link by the model t = hops * latency + bytes / bandwidth."""

    latency_s: float
    bandwidth_bytes_per_s: float
    error_frac: float
    """Mean of |fitted - measured| / measured over the samples."""


def hops_and_bytes(sample: CollectiveSample) -> tuple[int, float]:
    """Messages in a row, and bytes that each rank sends.

    A ring all-gather of n bytes over N ranks takes N - 1 steps of n / N bytes (Thakur, Rabenseifner and Gropp 2005,
    section 4.1); a message of n bytes is one step.
    """
    if sample.op is Collective.ALL_GATHER:
        steps = sample.num_ranks - 1
        return steps, steps * sample.size_bytes / sample.num_ranks
    return 1, float(sample.size_bytes)


def fit(samples: Sequence[CollectiveSample]) -> AlphaBeta:
    """Least squares on relative errors over the all-gathers and messages of `samples` (at least two sizes).

    Each sample is divided by its time, so that a small message weighs as much as a large one. Where the best line has
    no positive latency, the latency is that of the fastest sample, an upper bound; where it has no positive slope, the
    bandwidth is the largest that a sample reached, a lower bound.
    """
    used = [sample for sample in samples if sample.op in FITTED_OPS]
    times = np.array([sample.time.median_s for sample in used])
    terms = np.array([hops_and_bytes(sample) for sample in used], dtype=np.float64)
    (latency, slope), *_ = np.linalg.lstsq(terms / times[:, None], np.ones(len(used)), rcond=None)
    if latency <= 0:
        latency = float(np.min(times / terms[:, 0]))
    if slope <= 0:
        slope = float(np.min(times / terms[:, 1]))
    fitted = terms @ np.array([latency, slope])
    return AlphaBeta(float(latency), float(1 / slope), float(np.mean(np.abs(fitted / times - 1))))
