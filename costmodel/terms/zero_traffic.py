"""Data parallelism: gradients are reduced, and what ZeRO shards is gathered (arXiv 1910.02054).

    stage   before the step          each micro-batch                                  after the step
    0                                                                                  all-reduce gradients
    1       all-gather parameters                                                      reduce-scatter gradients
    2       all-gather parameters    reduce-scatter gradients in backward
    3                                all-gather parameters in forward and backward,
                                     reduce-scatter gradients in backward

Some frameworks reduce whole gradients after every micro-batch under stage 0 as well; their stack says so.
"""

from __future__ import annotations

from costmodel.collectives import collective_time
from costmodel.price import PassPrice, StepPrice, Timed
from costmodel.setting import LayerView
from costmodel.spec import Collective, Source
from costmodel.terms import sharding_copies

TERM = "data-parallel traffic"


def per_microbatch(view: LayerView, forward_s: float, backward_s: float) -> PassPrice:
    """Exposed traffic of a micro-batch next to passes of `forward_s` and `backward_s` of compute.

    exposed = traffic - overlap x min(compute, traffic), with the overlap that the stack achieves.
    """
    gather, reduce = _gather(view), _reduce(view)
    gather_s = gather.time_s if view.mesh.zero == 3 else 0.0
    reduce_s = reduce.time_s if _reduces_each_microbatch(view) else 0.0
    overlap_frac = view.setting.stack.param_gather_overlap_frac
    return PassPrice(
        TERM,
        _exposed_s(gather_s, forward_s, overlap_frac),
        _exposed_s(gather_s + reduce_s, backward_s, overlap_frac),
        Source.worst(gather.source, reduce.source),
        repeated_s=0.0,
    )


def per_step(view: LayerView, backward_s: float) -> StepPrice:
    """Exposed traffic once per step; the reduction may hide behind the last backward pass of `backward_s`."""
    gather, reduce = _gather(view), _reduce(view)
    gather_s = gather.time_s if view.mesh.zero in (1, 2) else 0.0
    reduce_s = 0.0 if _reduces_each_microbatch(view) else reduce.time_s
    exposed_s = _exposed_s(reduce_s, backward_s, view.setting.stack.grad_reduce_overlap_frac)
    return StepPrice(TERM, Source.worst(gather.source, reduce.source), before_s=gather_s, after_s=exposed_s)


def _reduces_each_microbatch(view: LayerView) -> bool:
    if view.mesh.zero >= 2:
        return True
    return view.mesh.zero == 0 and view.mesh.pp == 1 and view.setting.stack.reduces_whole_gradients_each_microbatch


def _reduce(view: LayerView) -> Timed:
    bytes_per_param = view.setting.stack.grad_bytes_per_param
    if view.mesh.zero == 0:
        return _dp(view, Collective.ALL_REDUCE, bytes_per_param)
    return _dp(view, Collective.REDUCE_SCATTER, bytes_per_param) + sharding_copies.around_scatter(view)


def _gather(view: LayerView) -> Timed:
    bytes_per_param = view.setting.workload.precision.bytes
    return _dp(view, Collective.ALL_GATHER, bytes_per_param) + sharding_copies.around_gather(view)


def _dp(view: LayerView, op: Collective, bytes_per_param: int) -> Timed:
    """Over the replicas of the layer's parameters; routed experts in a collective of their own where theirs differ."""
    mesh, experts = view.mesh, view.num_expert_params
    replicas = (mesh.num_replicas, mesh.replica_stride)
    expert_replicas = (mesh.num_expert_replicas, mesh.expert_replica_stride)
    if experts == 0 or expert_replicas == replicas:
        return collective_time(view.setting, op, *replicas, view.num_params * bytes_per_param)
    rest = collective_time(view.setting, op, *replicas, (view.num_params - experts) * bytes_per_param)
    return rest + collective_time(view.setting, op, *expert_replicas, experts * bytes_per_param)


def _exposed_s(traffic_s: float, compute_s: float, overlap_frac: float) -> float:
    return traffic_s - overlap_frac * min(traffic_s, compute_s)
