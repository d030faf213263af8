"""Optimizer state: two fp32 moments of AdamW, and an fp32 copy of low-precision weights."""

from __future__ import annotations

from costmodel.memory.moments import Moments
from costmodel.memory.view import StageView

MOMENT_BYTES_PER_PARAM = 8
MASTER_BYTES_PER_PARAM = 4


def item(view: StageView) -> Moments:
    """8 bytes per owned parameter, 12 where the optimizer owns the fp32 weights; sharded from ZeRO-1 on."""
    bytes_per_param = MOMENT_BYTES_PER_PARAM
    if not view.setting.stack.weights_stored_in_fp32 and view.compute_bytes < 4:
        bytes_per_param += MASTER_BYTES_PER_PARAM
    size_bytes = int(bytes_per_param * (view.num_owned_params if view.zero > 0 else view.num_params))
    return Moments.always("optimizer state", size_bytes)
