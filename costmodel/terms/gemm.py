"""Matrix multiplications: the larger of arithmetic and memory traffic."""

from __future__ import annotations

from costmodel.price import PassPrice
from costmodel.setting import LayerView
from costmodel.spec import Block, Source
from costmodel.spec.operations import Multiplication

TERM = "matrix multiplications"

TRAINING_FRAC = 0.90
"""What is left in training of the rate of a lone forward GEMM: gradients have worse layouts, and power and memory are
shared. Fitted on published A100 and H100 runs (0.92 and 0.90)."""

BANDWIDTH_FRAC = 0.85
"""Share of the memory bandwidth that kernels reach; fitted with the element-wise traffic of published runs."""


def price(view: LayerView) -> PassPrice:
    """Forward: max(2mnk / (peak x efficiency), moved bytes / bandwidth) per GEMM; backward: that for each gradient.

    A repetition that stops early leaves out the last GEMM of a block where backward does not need its result.
    """
    workload, device = view.setting.workload, view.setting.cluster.device
    rate = training_rate(view)
    forward_s = backward_s = last_s = 0.0
    for op in view.operations:
        if isinstance(op, Multiplication):
            memory_s = op.moved_values * workload.precision.bytes / (device.mem_bandwidth_bytes_per_s * BANDWIDTH_FRAC)
            last_s = max(op.flop / rate, memory_s)
            forward_s += last_s
            backward_s += op.num_gradients * last_s
    repeated_s = forward_s - last_s if stops_early(view) else None
    return PassPrice(TERM, forward_s, backward_s, Source.worst(Source.FITTED, device.source), repeated_s)


def training_rate(view: LayerView) -> float:
    """FLOP per second that large multiplications reach in training."""
    device = view.setting.cluster.device
    rate = device.peak_in(view.setting.workload.precision) * device.gemm_efficiency_frac
    return rate if device.source is Source.MEASURED else rate * TRAINING_FRAC


def stops_early(view: LayerView) -> bool:
    """Whether a repetition of the layer ends before its last multiplication, and the reduce-scatter behind it."""
    return (
        view.setting.stack.recompute_stops_early
        and isinstance(view.layer, Block)
        and not view.layer.last_product_is_kept
    )
