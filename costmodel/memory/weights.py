"""Weights that stay allocated: the shard a rank owns, or the whole where nothing is sharded."""

from __future__ import annotations

from costmodel.memory.moments import Moments
from costmodel.memory.view import StageView


def item(view: StageView) -> Moments:
    """fp32 storage sharded from ZeRO-1 on (FSDP2 shards what it stores); else low-precision weights, sharded by
    ZeRO-3 only, while the fp32 copy counts as optimizer state."""
    if view.setting.stack.weights_stored_in_fp32:
        size_bytes = 4 * view.num_params // (view.mesh.num_replicas if view.zero > 0 else 1)
    else:
        size_bytes = view.compute_bytes * view.num_params // (view.mesh.num_replicas if view.zero == 3 else 1)
    return Moments.always("weights", size_bytes)
