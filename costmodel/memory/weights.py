"""Weights that stay allocated: the shard a rank owns, or the whole where nothing is sharded."""

from __future__ import annotations

from costmodel.memory.moments import Moments
from costmodel.memory.view import StageView


def item(view: StageView) -> Moments:
    """fp32 storage sharded from ZeRO-1 on (FSDP2 shards what it stores); else low-precision weights, sharded by
    ZeRO-3 only, while the fp32 copy counts as optimizer state."""
    if view.setting.stack.weights_stored_in_fp32:
        size_bytes = int(4 * (view.num_owned_params if view.zero > 0 else view.num_params))
    else:
        size_bytes = int(view.compute_bytes * (view.num_owned_params if view.zero == 3 else view.num_params))
    return Moments.always("weights", size_bytes)
