"""Dispatch of sharded tensors: host time that tensor parallelism adds to every pass of a block."""

from __future__ import annotations

from costmodel.price import PassPrice
from costmodel.setting import LayerView
from costmodel.spec import DenseBlock, Source

TERM = "dispatch of sharded tensors"


def price(view: LayerView) -> PassPrice:
    """A constant of the stack per block and pass; nothing hides it where host and compute share the cores."""
    applies = view.mesh.tp > 1 and isinstance(view.layer, DenseBlock)
    time_s = view.setting.stack.tensor_dispatch_s_per_pass if applies else 0.0
    return PassPrice(TERM, time_s, time_s, Source.FITTED)
