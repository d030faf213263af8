"""Attention by a fused (flash) kernel."""

from __future__ import annotations

from costmodel.price import PassPrice
from costmodel.setting import LayerView
from costmodel.spec import Source
from costmodel.spec.operations import DotProductAttention

TERM = "attention"

BACKWARD_RATIO = 2.5 / 0.8
"""Backward does 2.5 times the FLOP (five GEMMs for two) at 0.8 of the rate (fitted on published long-context runs)."""


def price(view: LayerView) -> PassPrice:
    """Forward: FLOP of the pairs that meet (a causal half), over the share of the peak that the kernel reaches."""
    workload, device = view.setting.workload, view.setting.cluster.device
    rate = device.peak_flop_per_s[workload.precision] * device.attention_efficiency_frac
    forward_s = sum(op.flop for op in view.operations if isinstance(op, DotProductAttention)) / rate
    return PassPrice(TERM, forward_s, BACKWARD_RATIO * forward_s, Source.worst(Source.FITTED, device.source))
