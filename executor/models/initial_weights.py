"""Initial weights that depend on the seed and the parameter's name alone, never on the layout.

Each parameter is drawn whole, in fp32 on the CPU, by a generator of its own, and the rank keeps its shard. At most one
whole parameter is in memory beside the shards.
"""

from __future__ import annotations

import hashlib

import torch
from torch import nn
from torch.distributed.tensor import DTensor, Replicate
from torch.distributed.tensor.placement_types import Shard, _StridedShard

from executor.models.stage import Stage


@torch.no_grad()
def fill(stage: Stage, seed: int, std: float) -> None:
    """Fill the parameters of a materialised stage, sharded or not.

    As transformers does: norms are ones, biases zeros, and tables and matrices normal with mean 0 and `std` (the
    config's `initializer_range`).
    """
    for name, parameter in stage.parameters_by_name():
        whole = initial_weight(name, parameter.shape, seed, std)
        local = parameter.to_local() if isinstance(parameter, DTensor) else parameter
        local.copy_(local_shard(whole, parameter))


def initial_weight(name: str, shape: torch.Size, seed: int, std: float) -> torch.Tensor:
    """The whole parameter `name` in fp32 on the CPU."""
    if name.endswith("bias"):
        return torch.zeros(shape)
    if len(shape) == 1:
        return torch.ones(shape)
    generator = torch.Generator("cpu").manual_seed(parameter_seed(seed, name))
    return torch.empty(shape).normal_(0.0, std, generator=generator)


def parameter_seed(seed: int, name: str) -> int:
    """Seed of one parameter's generator, from 0 to 2**63 - 1; the same on every computer and Python."""
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def local_shard(whole: torch.Tensor, parameter: nn.Parameter) -> torch.Tensor:
    """The part of `whole` that this rank holds of `parameter`.

    Tensor parallelism (the inner mesh axis) cuts first, and FSDP cuts what is left, both as `torch.chunk` does.
    """
    if not isinstance(parameter, DTensor):
        return whole
    mesh = parameter.device_mesh
    for axis in reversed(range(mesh.ndim)):
        placement = parameter.placements[axis]
        if isinstance(placement, Shard | _StridedShard):
            chunks = whole.chunk(mesh.size(axis), dim=placement.dim)
            index = mesh.get_local_rank(axis)
            # A dimension shorter than the mesh axis leaves its last ranks with nothing.
            whole = chunks[index] if index < len(chunks) else whole.narrow(placement.dim, 0, 0)
        elif not isinstance(placement, Replicate):
            raise TypeError(f"a parameter cannot be stored as {placement}")
    return whole
