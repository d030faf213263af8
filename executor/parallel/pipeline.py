"""Pipeline parallelism by torch.distributed.pipelining, and the plain loop over micro-batches for a single stage.

Per micro-batch a stage receives one hidden tensor and sends one, forward and backward: [b, s / tp, h] in the precision
of the run. torch keeps a receive buffer for every micro-batch of a step and direction, and GPipe the activations of
all of them; 1F1B keeps those of pp - stage micro-batches.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from torch.distributed.pipelining._backward import stage_backward
from torch.distributed.pipelining.schedules import PipelineScheduleSingle

from costmodel.spec import Schedule
from executor.models.stage import Stage
from executor.parallel.data import DataParallel
from executor.parallel.mesh import RankMesh

LossFn = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
SCHEDULES: dict[Schedule, type[PipelineScheduleSingle]] = {
    Schedule.GPIPE: ScheduleGPipe,
    Schedule.ONE_F_ONE_B: Schedule1F1B,
}


class Passes(Protocol):
    """Forward and backward passes of one step."""

    def run(self, inputs: torch.Tensor, target: torch.Tensor) -> torch.Tensor | None:
        """Accumulate the gradients of the mean loss over token ids `inputs`, `target` [b * m, s].

        Returns the mean loss on ranks that hold the head, None on others.
        """


class MicroBatchLoop:
    """The passes of a model that is one stage: forward and backward of each micro-batch in turn."""

    def __init__(self, stage: Stage, data_parallel: DataParallel, num_microbatches: int, loss_fn: LossFn) -> None:
        self._stage = stage
        self._data_parallel = data_parallel
        self._num_microbatches = num_microbatches
        self._loss_fn = loss_fn

    def run(self, inputs: torch.Tensor, target: torch.Tensor) -> torch.Tensor | None:
        """See `Passes.run`."""
        losses = []
        pairs = zip(inputs.chunk(self._num_microbatches), target.chunk(self._num_microbatches), strict=True)
        for index, (x, y) in enumerate(pairs):
            loss = self._loss_fn(self._stage(x), y) / self._num_microbatches
            self._data_parallel.before_backward(is_last=index == self._num_microbatches - 1)
            loss.backward()  # type: ignore[no-untyped-call]
            losses.append(loss.detach())
        return torch.stack(losses).sum()


class PipelinedPasses:
    """The passes of one stage of several, in the order of a schedule."""

    def __init__(
        self,
        stage: Stage,
        mesh: RankMesh,
        data_parallel: DataParallel,
        schedule: Schedule,
        num_microbatches: int,
        loss_fn: LossFn,
        input_example: torch.Tensor,
        output_example: torch.Tensor,
    ) -> None:
        """The examples give shape and dtype of one micro-batch; on the meta device."""
        self._mesh = mesh
        pipeline_stage = _DataParallelStage(
            stage,
            mesh.index("pp"),
            mesh.size("pp"),
            mesh.device,
            input_args=input_example,
            output_args=output_example,
            group=mesh.group("pp"),
        )
        pipeline_stage.data_parallel = data_parallel
        # Each loss is divided here, so that the sum of the gradients is the gradient of the mean.
        self._schedule = SCHEDULES[schedule](
            pipeline_stage,
            num_microbatches,
            loss_fn=lambda output, target: loss_fn(output, target) / num_microbatches,
            scale_grads=False,
        )

    def run(self, inputs: torch.Tensor, target: torch.Tensor) -> torch.Tensor | None:
        """See `Passes.run`."""
        args = [inputs] if self._mesh.index("pp") == 0 else []
        if not self._mesh.is_last_stage:
            self._schedule.step(*args, return_outputs=False)
            return None
        losses: list[torch.Tensor] = []
        self._schedule.step(*args, target=target, losses=losses, return_outputs=False)
        return torch.stack([loss.detach() for loss in losses]).sum()


class _DataParallelStage(PipelineStage):
    """A pipeline stage that reduces gradients when its ZeRO stage says so.

    torch's own reduces once, after all micro-batches, whatever the sharding.
    """

    data_parallel: DataParallel

    def backward_maybe_with_nosync(
        self, backward_type: str, bwd_kwargs: dict[str, Any], last_backward: bool = False
    ) -> tuple[tuple[torch.Tensor | None, ...], None]:
        """One backward pass; schedules here never split it into input and weight gradients."""
        assert backward_type == "full"
        self.data_parallel.before_backward(is_last=last_backward)
        gradients = stage_backward(bwd_kwargs["stage_output"], bwd_kwargs["output_grads"], bwd_kwargs["input_values"])
        return gradients, None

    def perform_reduce_grad(self, grad_scale_factor: int) -> None:
        """Nothing is left to do: the last backward pass reduced the gradients, and the loss was scaled."""
