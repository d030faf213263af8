"""Norms, activations, residuals, rotary embedding, loss: work that waits for memory."""

from __future__ import annotations

from costmodel.price import PassPrice
from costmodel.setting import LayerView
from costmodel.spec import Source
from costmodel.spec.operations import Elementwise
from costmodel.terms.gemm import BANDWIDTH_FRAC

TERM = "element-wise work"


def price(view: LayerView) -> PassPrice:
    """Moved bytes, times how much more the stack moves than fused kernels would, over the bandwidth reached."""
    workload, device, stack = view.setting.workload, view.setting.cluster.device, view.setting.stack
    rate = device.mem_bandwidth_bytes_per_s * BANDWIDTH_FRAC
    forward_bytes = backward_bytes = 0.0
    for op in view.operations:
        if isinstance(op, Elementwise):
            factor, value_bytes = stack.elementwise_traffic_factor, workload.precision.bytes
            forward_bytes += value_bytes * (factor * op.forward_values + op.kernel_values_forward)
            forward_bytes += 4 * op.fp32_values_forward
            backward_bytes += value_bytes * (factor * op.backward_values + op.kernel_values_backward)
            backward_bytes += 4 * op.fp32_values_backward
    source = Source.worst(Source.ANALYTIC, device.source)
    return PassPrice(TERM, forward_bytes / rate, backward_bytes / rate, source)
