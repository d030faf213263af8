"""Times what the dispatch of sharded tensors costs the host, apart from compute and communication.

DTensor decides for each operation how its operands are laid out and what must be communicated. That takes the same
time whatever the size of the tensors, so it shows best where they are tiny: the pass of a block split over `tp` ranks,
less the pass of one rank's plain share, less the collectives that the split needs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh

from costmodel.spec import DispatchSample, Spread
from profiler.contract import LayerFactory, ProfileRequest
from profiler.rounds import Times
from profiler.stopwatch import stopwatch

TOKENS_PER_RANK = 8
COLLECTIVES_PER_PASS = 2
"""All-gathers, and as many reduce-scatters: around attention and around the feed-forward network."""
BLOCK = 1
"""Index of the first block."""
LEAST_S = 1e-9
"""A difference may fall below zero in a noisy round; a time may not."""


class DispatchTimer:
    """One block split over `tp` ranks and one rank's plain share of it, ready to be timed in rounds."""

    def __init__(self, request: ProfileRequest, layers: LayerFactory, tp: int, device: torch.device) -> None:
        mesh = init_device_mesh(device.type, (request.num_ranks // tp, tp), mesh_dim_names=("apart", "tp"))["tp"]
        hidden = request.model.hidden
        self._group = mesh.get_group()
        self._split = layers.build_sharded_block(BLOCK, mesh, device)
        self._plain = layers.build_layer(BLOCK, tp, device, torch.float32)
        self._part = torch.randn(1, TOKENS_PER_RANK, hidden, device=device)
        self._whole = torch.randn(1, TOKENS_PER_RANK * tp, hidden, device=device)
        self._watch = stopwatch(device)

    def visit(self) -> list[float]:
        """One round: seconds that dispatch adds forward and backward; in a noisy round perhaps below zero."""
        split, plain = self._passes(self._split, self._part), self._passes(self._plain, self._whole)
        dist.barrier()
        self._watch.mark()
        for _ in range(COLLECTIVES_PER_PASS):
            dist.all_gather_single(self._whole.flatten(), self._part.flatten(), group=self._group)
            dist.reduce_scatter_single(self._part.flatten(), self._whole.flatten(), group=self._group)
        self._watch.mark()
        (collectives_s,) = self._watch.read()
        return [ours - alone - collectives_s for ours, alone in zip(split, plain, strict=True)]

    def _passes(self, block: nn.Module, values: Tensor) -> list[float]:
        """Seconds forward and backward."""
        inputs = values.detach().requires_grad_()
        dist.barrier()
        self._watch.mark()
        output = block(inputs)
        self._watch.mark()
        torch.autograd.backward(output, torch.ones_like(output))
        self._watch.mark()
        return self._watch.read()


def dispatch_sample(tp: int, times_by_rank: Sequence[Times]) -> DispatchSample | None:
    """The sample from the rounds of all ranks, each of shape (rounds, 2); None where the median is not above zero."""
    spreads = [_spread([times[:, item] for times in times_by_rank]) for item in range(2)]
    if None in spreads:
        return None
    forward, backward = spreads
    return DispatchSample(tp=tp, forward=forward, backward=backward)


def _spread(times_by_rank: Sequence[Times]) -> Spread | None:
    """Median of the slowest rank, 10th and 90th percentile over all."""
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
