"""The one device mesh of a run, and where this rank stands on it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

from costmodel.spec import Plan


@dataclass(frozen=True)
class RankMesh:
    """A mesh with the axes pp, dp, tp from the outermost to the innermost: rank r has tensor index r % tp."""

    mesh: DeviceMesh
    device: torch.device
    """Where this rank computes."""

    def size(self, axis: str) -> int:
        """Ranks along `axis`."""
        return self.mesh[axis].size()

    def index(self, axis: str) -> int:
        """This rank's place along `axis`."""
        return self.mesh[axis].get_local_rank()

    def group(self, axis: str) -> dist.ProcessGroup:
        """The ranks that differ from this one along `axis` only."""
        return self.mesh[axis].get_group()

    @property
    def is_last_stage(self) -> bool:
        """Whether this rank holds the head."""
        return self.index("pp") == self.size("pp") - 1


def build_mesh(plan: Plan, device: torch.device) -> RankMesh:
    """The mesh of `plan` over the default process group, which must have `plan.num_ranks` ranks."""
    mesh = init_device_mesh(device.type, (plan.pp, plan.dp, plan.tp), mesh_dim_names=("pp", "dp", "tp"))
    return RankMesh(mesh, device)
