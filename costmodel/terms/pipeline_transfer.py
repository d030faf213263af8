"""The hop between two pipeline stages: the hidden state of one micro-batch, or its gradient."""

from __future__ import annotations

from costmodel.collectives import collective_time
from costmodel.price import Timed
from costmodel.setting import Mesh, Setting
from costmodel.spec import Collective


def transfer(setting: Setting, mesh: Mesh) -> Timed:
    """One message to the same rank of the next stage, over the slowest link between two neighbouring stages.

    Sequence parallelism sends each rank's slice only; without it every tensor-parallel rank sends the whole.
    """
    values = mesh.shards.tokens(mesh.micro_batch, setting.workload.seq_len) * setting.model.hidden
    size_bytes = values * setting.workload.precision.bytes / mesh.shards.sequence
    return collective_time(setting, Collective.SEND_RECV, mesh.pp, mesh.pp_stride, size_bytes)
