"""Times what the dispatch of sharded tensors costs the host, apart from compute and communication.

DTensor decides for each operation how its operands are laid out and what must be communicated. That takes the same
time whatever the size of the tensors, so it shows best where they are tiny: the pass of a block split over `tp` ranks,
less the pass of one rank's plain share, less the collectives that the split needs.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

from costmodel.spec import DispatchSample
from profiler.contract import LayerFactory, ProfileRequest
from profiler.differences import BLOCK, pass_times, spread_of_differences
from profiler.rounds import Times
from profiler.stopwatch import stopwatch

TOKENS_PER_RANK = 8
COLLECTIVES_PER_PASS = 2
"""All-gathers, and as many reduce-scatters: around attention and around the feed-forward network."""


class DispatchTimer:
    """One block split over `tp` ranks and one rank's plain share of it, ready to be timed in rounds."""

    def __init__(self, request: ProfileRequest, layers: LayerFactory, tp: int, device: torch.device) -> None:
        mesh = init_device_mesh(device.type, (request.num_ranks // tp, tp), mesh_dim_names=("apart", "tp"))["tp"]
        hidden = request.model.hidden
        self._group = mesh.get_group()
        self._split = layers.build_split_block(BLOCK, mesh, device)
        self._plain = layers.build_layer(BLOCK, tp, device, torch.float32)
        self._part = torch.randn(1, TOKENS_PER_RANK, hidden, device=device)
        self._whole = torch.randn(1, TOKENS_PER_RANK * tp, hidden, device=device)
        self._watch = stopwatch(device)

    def visit(self) -> list[float]:
        """One round: seconds that dispatch adds forward and backward; in a noisy round perhaps below zero."""
        split = pass_times(self._split, self._part, self._watch)
        plain = pass_times(self._plain, self._whole, self._watch)
        part, whole = torch.zeros_like(self._part).flatten(), torch.zeros_like(self._whole).flatten()
        dist.barrier()
        self._watch.mark()
        for _ in range(COLLECTIVES_PER_PASS):
            dist.all_gather_single(whole, part, group=self._group)
            dist.reduce_scatter_single(part, whole, group=self._group)
        self._watch.mark()
        (collectives_s,) = self._watch.read()
        return [ours - alone - collectives_s for ours, alone in zip(split, plain, strict=True)]


def dispatch_sample(tp: int, times_by_rank: Sequence[Times]) -> DispatchSample:
    """The sample from the rounds of all ranks, each of shape (rounds, 2)."""
    forward, backward = (spread_of_differences([times[:, item] for times in times_by_rank]) for item in range(2))
    return DispatchSample(tp=tp, forward=forward, backward=backward)
