"""Optimizer state: two fp32 moments of AdamW, and an fp32 copy of low-precision weights."""

from __future__ import annotations

from costmodel.memory.view import StageView
from costmodel.spec import MemoryItem, Source

MOMENT_BYTES_PER_PARAM = 8
MASTER_BYTES_PER_PARAM = 4


def item(view: StageView) -> MemoryItem:
    """8 bytes per owned parameter, 12 where the optimizer owns the fp32 weights; sharded from ZeRO-1 on."""
    bytes_per_param = MOMENT_BYTES_PER_PARAM
    if not view.setting.stack.weights_stored_in_fp32 and view.compute_bytes < 4:
        bytes_per_param += MASTER_BYTES_PER_PARAM
    size_bytes = bytes_per_param * view.num_params // (view.shards if view.mesh.zero > 0 else 1)
    return MemoryItem(
        name="optimizer state",
        steady_bytes=size_bytes,
        first_step_bytes=size_bytes,
        checkpoint_bytes=size_bytes,
        source=Source.ANALYTIC,
    )
