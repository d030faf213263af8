"""Recurrences along the sequence: state-space layers and linear attention."""

from __future__ import annotations

from costmodel.price import PassPrice
from costmodel.setting import LayerView
from costmodel.spec import Source
from costmodel.spec.operations import Scan
from costmodel.terms.gemm import BANDWIDTH_FRAC

TERM = "recurrences"


def price(view: LayerView) -> PassPrice:
    """Forward: the larger of FLOP at the rate that attention kernels reach and moved bytes; backward: twice that.

    No published run times such a kernel alone, so the rate is assumed: it computes small products on chip, like
    attention.
    """
    workload, device = view.setting.workload, view.setting.cluster.device
    rate = device.peak_in(workload.precision) * device.attention_efficiency_frac
    bandwidth = device.mem_bandwidth_bytes_per_s * BANDWIDTH_FRAC
    forward_s = sum(
        max(op.flop / rate, op.moved_values * workload.precision.bytes / bandwidth)
        for op in view.operations
        if isinstance(op, Scan)
    )
    return PassPrice(TERM, forward_s, 2 * forward_s, Source.ASSUMED)
