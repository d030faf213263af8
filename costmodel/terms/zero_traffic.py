"""Data parallelism: gradients are reduced, and what ZeRO shards is gathered (arXiv 1910.02054).

    stage   before the step          each micro-batch                                  after the step
    0                                                                                  all-reduce gradients
    1       all-gather parameters                                                      reduce-scatter gradients
    2       all-gather parameters    reduce-scatter gradients in backward
    3                                all-gather parameters in forward and backward,
                                     reduce-scatter gradients in backward

In a pipeline torch reduces gradients once, after the last micro-batch, whatever the stage, and parameters gathered
for the first micro-batch stay until then; so there stages 2 and 3 pay what stage 1 pays, and stage 3 gathers once
more before the first backward pass.
"""

from __future__ import annotations

from costmodel.collectives import collective_time
from costmodel.price import PassPrice, StepPrice, Timed
from costmodel.setting import LayerView
from costmodel.spec import Collective, Source

TERM = "zero_traffic"


def per_microbatch(view: LayerView, forward_s: float, backward_s: float) -> PassPrice:
    """Exposed traffic of stages 2 and 3 next to passes of `forward_s` and `backward_s` of compute.

    exposed = traffic - overlap x min(compute, traffic), with the overlap that the stack achieves.
    """
    mesh, stack = view.mesh, view.setting.stack
    if mesh.zero < 2 or mesh.pp > 1:
        return PassPrice(TERM, 0.0, 0.0, Source.ANALYTIC, repeated_in_recompute=False)
    gather, scatter = _gather(view), _dp(view, Collective.REDUCE_SCATTER, stack.grad_bytes_per_param)
    gather_s = gather.time_s if mesh.zero == 3 else 0.0
    overlap_frac = stack.param_gather_overlap_frac
    return PassPrice(
        TERM,
        _exposed_s(gather_s, forward_s, overlap_frac),
        _exposed_s(gather_s + scatter.time_s, backward_s, overlap_frac),
        Source.worst(gather.source, scatter.source),
        repeated_in_recompute=False,
    )


def per_step(view: LayerView, backward_s: float) -> StepPrice:
    """Exposed traffic once per step; the reduction may hide behind the last backward pass of `backward_s`."""
    mesh, stack = view.mesh, view.setting.stack
    gather = _gather(view)
    gather_s = gather.time_s if mesh.zero > 0 else 0.0
    if mesh.pp == 1 and mesh.zero == 3:
        gather_s = 0.0
    if mesh.pp > 1 and mesh.zero == 3:
        gather_s *= 2
    op = Collective.ALL_REDUCE if mesh.zero == 0 else Collective.REDUCE_SCATTER
    reduce = _dp(view, op, stack.grad_bytes_per_param)
    reduce_s = reduce.time_s if mesh.zero < 2 or mesh.pp > 1 else 0.0
    exposed_s = _exposed_s(reduce_s, backward_s, stack.grad_reduce_overlap_frac)
    return StepPrice(TERM, Source.worst(gather.source, reduce.source), before_s=gather_s, after_s=exposed_s)


def _gather(view: LayerView) -> Timed:
    return _dp(view, Collective.ALL_GATHER, view.setting.workload.precision.bytes)


def _dp(view: LayerView, op: Collective, bytes_per_param: int) -> Timed:
    mesh = view.mesh
    return collective_time(view.setting, op, mesh.dp, mesh.dp_stride, view.num_params * bytes_per_param)


def _exposed_s(traffic_s: float, compute_s: float, overlap_frac: float) -> float:
    return traffic_s - overlap_frac * min(traffic_s, compute_s)
