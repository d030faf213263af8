"""The layers of a model for the profiler to time: as training builds them, whole, as a share, and split over ranks."""

from __future__ import annotations

import torch
from torch import nn
from torch.distributed.device_mesh import DeviceMesh

from executor.models import HFCausalLM
from executor.models.initial_weights import fill
from executor.parallel import tensor


class ProfiledLayers(HFCausalLM):
    """A model whose blocks can also be had split by tensor parallelism, with its collectives."""

    def build_sharded_block(self, index: int, mesh: DeviceMesh, device: torch.device) -> nn.Module:
        """Layer `index`, a block, split over the one-dimensional `mesh`: fp32, random weights.

        Maps this rank's slice of the sequence [b, s / tp, h] to the same slice of the output.
        """
        stage = self.build_stage(range(index, index + 1))
        tensor.apply(stage, mesh)
        stage.materialize(device)
        fill(stage, seed=0, std=self.initializer_range)
        return stage
