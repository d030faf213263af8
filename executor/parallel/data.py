"""Data parallelism and the ZeRO stages (arXiv 1910.02054), by FSDP2 and plain all-reduce.

A unit is a layer: the embedding, each block, the head. Collectives over dp for each unit in a step of m micro-batches,
and bytes per parameter that a rank keeps, where p (4 in fp32, 2 in bf16) is the width of the weights that compute:

    zero   collectives                          weights         gradients    AdamW
    0      1 all-reduce                         4, and 2 more   4            8
                                                in bf16
    1      1 all-gather, 1 reduce-scatter       4 / dp + p      4            8 / dp
    2      1 all-gather, m reduce-scatters      4 / dp + p      4 / dp       8 / dp
    3      2 m all-gathers, m reduce-scatters   4 / dp          4 / dp       8 / dp

All-gathers carry p bytes per parameter, reductions 4: they are in fp32 whatever the precision. Backward makes gradients
of p bytes per parameter, one unit at a time; what is kept is their fp32 sum. Zero 1 and 2 gather the weights in the
first forward pass of a step and free them in the last backward pass; zero 3 holds them for the unit at work and the
next. Reductions are launched during the backward pass, except for zero 0 in fp32, where they follow the last one.

With one data-parallel rank there is nothing to shard and every stage is zero 0 without its all-reduce.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed._composable.replicate_with_fsdp import replicate
from torch.distributed.distributed_c10d import _coalescing_manager
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor

from costmodel.spec import Precision
from executor.models.stage import Stage
from executor.parallel.mesh import RankMesh


class DataParallel:
    """Shards a stage over the dp axis by a ZeRO stage and decides when gradients are reduced."""

    def __init__(self, stage: Stage, mesh: RankMesh, zero: int, precision: Precision) -> None:
        """Wraps `stage`, which must be on the meta device and already tensor-parallel and checkpoint-wrapped."""
        self._stage = stage
        self._mesh = mesh
        self._zero = zero if mesh.size("dp") > 1 else 0
        self._wrapped = self._zero > 0 or precision is Precision.BF16
        if self._wrapped:
            self._wrap(precision)

    def before_backward(self, *, is_last: bool) -> None:
        """Set what happens in the backward pass that follows; `is_last` for the last micro-batch of the step."""
        if not self._wrapped:
            return
        assert isinstance(self._stage, FSDPModule)
        # To FSDP every backward pass is the last (its default). Else it would prefetch by the order of all forward
        # passes since the step began, and gather a layer that no pass needs.
        self._stage.set_requires_gradient_sync(is_last or self._zero >= 2)
        self._stage.set_reshard_after_backward(is_last or self._zero == 3)

    @torch.no_grad()
    def finish_gradients(self) -> None:
        """After the last backward pass: what FSDP has not reduced is reduced here, layer by layer."""
        if self._wrapped:
            return
        for unit in self._stage.units():
            gradients = [_whole_gradient(parameter) for module in unit for parameter in module.parameters()]
            if self._mesh.size("dp") > 1:
                _average(gradients, self._mesh.group("dp"))

    def _wrap(self, precision: Precision) -> None:
        policy = MixedPrecisionPolicy()
        if precision is Precision.BF16:
            policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        dp = self._mesh.mesh["dp"]
        units: list[list[nn.Module]] = [*self._stage.units(), [self._stage]]
        for unit in units:
            if self._zero == 0:
                replicate(unit, mesh=dp, mp_policy=policy)
            else:
                fully_shard(unit, mesh=dp, reshard_after_forward=self._zero == 3, mp_policy=policy)


def _average(gradients: list[torch.Tensor], group: dist.ProcessGroup) -> None:
    """Average over the ranks of `group` in one collective, in place."""
    with _coalescing_manager(group):
        for gradient in gradients:
            dist.all_reduce(gradient, dist.ReduceOp.AVG, group)


def _whole_gradient(parameter: nn.Parameter) -> torch.Tensor:
    """The gradient of this rank's part of a parameter; a norm's is first added up over tensor-parallel ranks."""
    assert parameter.grad is not None
    if not isinstance(parameter, DTensor):
        return parameter.grad
    assert isinstance(parameter.grad, DTensor)
    if parameter.grad.placements != parameter.placements:
        parameter.grad = parameter.grad.redistribute(placements=parameter.placements)
    return parameter.grad.to_local()
