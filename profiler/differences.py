"""Differences of times: what one way of running a block takes beyond another, round by round."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn

from costmodel.spec import Spread
from profiler.rounds import Times, spread_of_ranks
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


def spread_of_differences(times_by_rank: Sequence[Times]) -> Spread:
    """As `spread_of_ranks`; what noise has pushed below zero counts as next to nothing."""
    return spread_of_ranks([np.maximum(times, LEAST_S) for times in times_by_rank])
