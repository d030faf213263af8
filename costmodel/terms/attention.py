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
    """Forward: FLOP of the pairs that the kernel computes (a causal half, or all under a mask that it is fed), over the
    share of the peak that it reaches."""
    workload, device = view.setting.workload, view.setting.cluster.device
    rate = device.peak_in(workload.precision) * device.attention_efficiency_frac
    forward_flop = backward_flop = 0.0
    for op in view.operations:
        if isinstance(op, DotProductAttention):
            forward_flop += op.kernel_flop
            backward_flop += op.kernel_flop if op.has_gradient else 0.0
    source = Source.worst(Source.FITTED, device.source)
    return PassPrice(TERM, forward_flop / rate, BACKWARD_RATIO * (backward_flop / rate), source)
