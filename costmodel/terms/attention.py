"""Attention: by a fused (flash) kernel, or by two multiplications with the scores in memory between them."""

from __future__ import annotations

from costmodel.price import PassPrice
from costmodel.setting import LayerView
from costmodel.spec import Source
from costmodel.spec.operations import DotProductAttention
from costmodel.terms.gemm import BANDWIDTH_FRAC, training_rate

TERM = "attention"

BACKWARD_RATIO = 2.5 / 0.8
"""Backward does 2.5 times the FLOP (five GEMMs for two) at 0.8 of the rate (fitted on published long-context runs)."""

BATCHED_FRAC = 0.6
"""Share of the rate of large multiplications that those of one head at a time reach: assumed."""
SCORE_PASSES = (6.6, 8.8)
"""How often scores, in the compute precision, pass the memory forward and backward: written, masked, normalised,
dropped; six and eight times by what the kernels do, and a tenth more as published runs support it."""
UNALIGNED_FACTOR = 20.0
"""Multiplications of heads whose width is no multiple of eight numbers do not use the tensor cores: fitted on published
runs with heads of 150 (10 to 25)."""
ALIGNED_VALUES = 8


def price(view: LayerView) -> PassPrice:
    """Fused: FLOP of the pairs that the kernel computes (a causal half, or all under a mask that it is fed), over the
    share of the peak that it reaches. Else FLOP of all pairs as batched multiplications, and the traffic of scores.
    """
    stack, device = view.setting.stack, view.setting.cluster.device
    forward_s = backward_s = 0.0
    for op in view.operations:
        if isinstance(op, DotProductAttention):
            there_s, back_s = _with_scores(view, op) if stack.score_bytes_kept else _fused(view, op)
            forward_s += there_s * stack.attention_time_factor
            backward_s += back_s * stack.attention_time_factor if op.has_gradient else 0.0
    return PassPrice(TERM, forward_s, backward_s, Source.worst(Source.FITTED, device.source))


def _fused(view: LayerView, op: DotProductAttention) -> tuple[float, float]:
    workload, device = view.setting.workload, view.setting.cluster.device
    forward_s = op.kernel_flop / (device.peak_in(workload.precision) * device.attention_efficiency_frac)
    return forward_s, BACKWARD_RATIO * forward_s


def _with_scores(view: LayerView, op: DotProductAttention) -> tuple[float, float]:
    workload, device = view.setting.workload, view.setting.cluster.device
    unaligned = op.head_dim % ALIGNED_VALUES or op.value_dim % ALIGNED_VALUES
    products_s = op.full_flop / (BATCHED_FRAC * training_rate(view)) * (UNALIGNED_FACTOR if unaligned else 1.0)
    one_pass_s = op.num_scores * workload.precision.bytes / (device.mem_bandwidth_bytes_per_s * BANDWIDTH_FRAC)
    forward, backward = SCORE_PASSES
    return products_s + forward * one_pass_s, 2 * products_s + backward * one_pass_s
