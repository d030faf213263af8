"""Staging of a checkpoint: the largest tensor that is gathered or copied while state is written or read back."""

from __future__ import annotations

from costmodel.memory.moments import Moments
from costmodel.memory.view import StageView
from costmodel.spec import Source


def item(view: StageView) -> Moments:
    """One whole layer in fp32: sharded checkpoints stream tensor by tensor, and no layer is streamed in less."""
    return Moments("checkpoint staging", checkpoint_bytes=4 * view.largest_layer_params, source=Source.ASSUMED)
