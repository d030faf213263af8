"""Times what ZeRO adds to its collectives: copies into and out of buffers, and the host's work around them.

A fully sharded block gathers its weights before a pass, and scatters its gradients after one. With tiny inputs the
passes take next to nothing: the pass of a sharded block, less that of a plain one, less the bare collectives over as
many bytes, is what surrounds them.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist

from costmodel.spec import ShardingSample
from profiler.contract import LayerFactory, ProfileRequest
from profiler.differences import BLOCK, pass_times, spread_of_differences
from profiler.rounds import Times
from profiler.stopwatch import stopwatch

TOKENS = 8
COPIES = 6
"""Of the block's parameters in fp32 that are alive at once: weights and gradients of the plain block, the gathered
weights and whole gradients of the sharded one, the buffer of the collective and that of the bare one."""


def needed_bytes(num_params: int) -> int:
    """Memory of a rank that timing a block of `num_params` takes."""
    return COPIES * torch.float32.itemsize * num_params


class ShardingTimer:
    """One block sharded over all ranks and a plain one, ready to be timed in rounds."""

    def __init__(self, request: ProfileRequest, layers: LayerFactory, device: torch.device) -> None:
        self.num_params = request.model.layers[BLOCK].num_params()
        self._sharded = layers.build_fully_sharded_block(BLOCK, device)
        self._plain = layers.build_layer(BLOCK, 1, device, torch.float32)
        self._inputs = torch.randn(1, TOKENS, request.model.hidden, device=device)
        self._part = torch.zeros(-(-self.num_params // request.num_ranks), device=device)
        self._whole = torch.zeros(len(self._part) * request.num_ranks, device=device)
        self._watch = stopwatch(device)

    def visit(self) -> list[float]:
        """One round: seconds that surround the collectives of a forward and of a backward pass.

        In a noisy round perhaps below zero.
        """
        sharded = pass_times(self._sharded, self._inputs, self._watch)
        plain = pass_times(self._plain, self._inputs, self._watch)
        dist.barrier()
        self._watch.mark()
        dist.all_gather_single(self._whole, self._part)
        self._watch.mark()
        dist.reduce_scatter_single(self._part, self._whole)
        self._watch.mark()
        gather_s, scatter_s = self._watch.read()
        return [sharded[0] - plain[0] - gather_s, sharded[1] - plain[1] - gather_s - scatter_s]


def sharding_sample(num_params: int, times_by_rank: Sequence[Times]) -> ShardingSample:
    """The sample from the rounds of all ranks, each of shape (rounds, 2)."""
    forward, backward = (spread_of_differences([times[:, item] for times in times_by_rank]) for item in range(2))
    return ShardingSample(num_params=num_params, num_ranks=len(times_by_rank), forward=forward, backward=backward)
