"""The layers of a model for the profiler to time: as training builds them, whole, as a share, and split over ranks."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

from costmodel.spec import Precision
from executor.models import HFCausalLM
from executor.models.initial_weights import fill
from executor.parallel import tensor
from executor.parallel.data import DataParallel
from executor.parallel.mesh import RankMesh


class ProfiledLayers(HFCausalLM):
    """A model whose blocks can also be had split by tensor parallelism, with its collectives."""

    def build_fully_sharded_block(self, index: int, device: torch.device) -> nn.Module:
        """Layer `index`, a block, sharded over all ranks as ZeRO-3 does: fp32, random weights."""
        stage = self.build_stage(range(index, index + 1))
        mesh = init_device_mesh(device.type, (1, dist.get_world_size(), 1), mesh_dim_names=("pp", "dp", "tp"))
        DataParallel(stage, RankMesh(mesh, device), zero=3, precision=Precision.FP32)
        stage.materialize(device)
        fill(stage, seed=0, std=self.initializer_range)
        return stage

    def build_split_block(self, index: int, mesh: DeviceMesh, device: torch.device) -> nn.Module:
        """Layer `index`, a block, split over the one-dimensional `mesh`: fp32, random weights.

        Maps this rank's slice of the sequence [b, s / tp, h] to the same slice of the output.
        """
        stage = self.build_stage(range(index, index + 1))
        tensor.apply(stage, mesh)
        stage.materialize(device)
        fill(stage, seed=0, std=self.initializer_range)
        return stage
