"""Differences of times: what one way of running a block takes beyond another, round by round."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn

from costmodel.spec import Spread
from profiler.rounds import Times
from profiler.stopwatch import Stopwatch

BLOCK = 1
"""Index of the first block, which stands for all."""
LEAST_S = 1e-9
"""A difference may fall below zero in a noisy round; a time may not."""


def pass_times(block: nn.Module, values: Tensor, watch: Stopwatch) -> list[float]:
    """Seconds of one forward and one backward pass, which all ranks begin together."""
    inputs = values.detach().requires_grad_()
    dist.barrier()
    watch.mark()
    output = block(inputs)
    watch.mark()
    torch.autograd.backward(output, torch.ones_like(output))
    watch.mark()
    return watch.read()


def spread_of_differences(times_by_rank: Sequence[Times]) -> Spread | None:
    """Median over the rounds of the slowest rank, 10th and 90th percentile over all ranks.

    None where the median is not above zero: what is sought is then lost in the noise.
    """
    median = max(float(np.median(times)) for times in times_by_rank)
    if median <= LEAST_S:
        return None
    low, high = np.percentile(np.concatenate(list(times_by_rank)), (10, 90))
    return Spread(
        median_s=median,
        low_s=max(LEAST_S, min(float(low), median)),
        high_s=max(float(high), median),
        num_samples=len(times_by_rank[0]),
    )
