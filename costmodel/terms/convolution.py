"""Short convolutions along the sequence, channel by channel: they wait for memory."""

from __future__ import annotations

from costmodel.price import PassPrice
from costmodel.setting import LayerView
from costmodel.spec import Source
from costmodel.spec.operations import Convolution
from costmodel.terms.gemm import BANDWIDTH_FRAC

TERM = "convolutions"


def price(view: LayerView) -> PassPrice:
    """Forward: moved bytes over the bandwidth reached; backward: twice that, for both gradients."""
    device = view.setting.cluster.device
    rate = device.mem_bandwidth_bytes_per_s * BANDWIDTH_FRAC
    moved = sum(op.moved_values for op in view.operations if isinstance(op, Convolution))
    forward_s = moved * view.setting.workload.precision.bytes / rate
    return PassPrice(TERM, forward_s, 2 * forward_s, Source.worst(Source.ANALYTIC, device.source))
