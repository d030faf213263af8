"""One rank's part of a training run: its stage laid out by the plan, the optimizer, and the step."""

from __future__ import annotations

import torch

from costmodel.spec import Plan, Precision, Workload
from executor.models import HFCausalLM, Stage
from executor.models.initial_weights import fill
from executor.parallel import recompute, tensor
from executor.parallel.data import DataParallel
from executor.parallel.mesh import RankMesh
from executor.parallel.pipeline import MicroBatchLoop, Passes, PipelinedPasses

ADAM_BETAS = (0.9, 0.95)
WEIGHT_DECAY = 0.1


class Trainer:
    """Weights, optimizer state and passes of this rank."""

    def __init__(
        self, model: HFCausalLM, plan: Plan, workload: Workload, mesh: RankMesh, *, seed: int, lr: float
    ) -> None:
        self._mesh = mesh
        self.stage: Stage = model.build_stage(plan.stages[mesh.index("pp")])
        # Each layer of wrapping sees the one before it: tensor-parallel parameters, then what is recomputed, then
        # what is gathered around both.
        tensor.apply(self.stage, mesh.mesh["tp"])
        recompute.apply(self.stage, plan.recompute_layers)
        self._data_parallel = DataParallel(self.stage, mesh, plan.zero, workload.precision)
        self.stage.materialize(mesh.device)
        fill(self.stage, seed, model.initializer_range)
        self._passes = self._make_passes(model, plan, workload)
        self.optimizer = torch.optim.AdamW(
            self.stage.parameters(), lr=lr, betas=ADAM_BETAS, weight_decay=WEIGHT_DECAY, fused=True
        )

    def step(self, tokens: torch.Tensor) -> torch.Tensor | None:
        """One optimizer step on this data-parallel rank's part of the batch, token ids [b * m, s + 1].

        Returns its mean loss where the head is, None elsewhere.
        """
        loss = self.accumulate_gradients(tokens)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss

    def accumulate_gradients(self, tokens: torch.Tensor) -> torch.Tensor | None:
        """Forward and backward passes of a step, gradients reduced."""
        inputs, target = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
        if self._mesh.size("tp") == 1:
            loss = self._passes.run(inputs, target)
        else:
            with tensor.loss_parallel():
                loss = self._passes.run(inputs, target)
        self._data_parallel.finish_gradients()
        return loss

    def _make_passes(self, model: HFCausalLM, plan: Plan, workload: Workload) -> Passes:
        tp = self._mesh.mesh["tp"]
        num_microbatches = plan.num_microbatches(workload.global_batch)

        def loss_fn(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
            return tensor.vocabulary_parallel_loss(logits, target, tp)

        if plan.pp == 1:
            return MicroBatchLoop(self.stage, self._data_parallel, num_microbatches, loss_fn)
        dtype = {Precision.FP32: torch.float32, Precision.BF16: torch.bfloat16}[workload.precision]
        ids = torch.empty(plan.micro_batch, workload.seq_len, dtype=torch.int64, device="meta")
        hidden = torch.empty(
            plan.micro_batch, workload.seq_len // plan.tp, model.hidden, dtype=dtype, device="meta", requires_grad=True
        )
        logits = torch.empty(
            plan.micro_batch, workload.seq_len, model.vocab // plan.tp, dtype=dtype, device="meta", requires_grad=True
        )
        return PipelinedPasses(
            self.stage,
            self._mesh,
            self._data_parallel,
            plan.schedule,
            num_microbatches,
            loss_fn,
            input_example=ids if self.stage.has_embedding else hidden,
            output_example=logits if self.stage.has_head else hidden,
        )
