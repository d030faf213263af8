"""Functions that run on the ranks of a test: one training step under a plan, and what can be seen of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
import torch.distributed as dist
from plan_files import GLOBAL_BATCH, SEQ_LEN, tiny_plan
from torch.distributed.tensor import DTensor
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import AutoModelForCausalLM

from costmodel.spec import Plan, Precision, Workload
from executor.models import HFCausalLM
from executor.models.initial_weights import initial_weight
from executor.parallel.mesh import RankMesh, build_mesh
from executor.trainer import Trainer

SEED = 7
LR = 3e-3
CPU = torch.device("cpu")


@dataclass(frozen=True)
class Reference:
    """Loss and gradients of one process."""

    loss: float
    gradients: dict[str, torch.Tensor]


@dataclass(frozen=True)
class Seen:
    """One rank's first step (loss, gradients, collectives) and the losses of the steps after it."""

    loss: float | None
    """Of the rank's part of the batch, where the head is."""
    gradients: dict[str, torch.Tensor]
    """Whole, by name in the whole model; those of the rank's stage."""
    collectives: Counter[tuple[str, str]]
    """Number by (mesh axis, operation) during the passes of one step."""
    parameter_bytes: int
    """Held by the rank."""
    later_losses: list[float]


def global_batch() -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randint(0, 256, (GLOBAL_BATCH, SEQ_LEN + 1), generator=generator)


def reference_step(hf_config: dict[str, Any]) -> Reference:
    """Forward and backward of the whole batch by the unmodified Hugging Face model."""
    model = HFCausalLM(hf_config)
    whole = AutoModelForCausalLM.from_config(model.config, attn_implementation="sdpa", dtype=torch.float32)
    with torch.no_grad():
        for name, parameter in whole.named_parameters():
            parameter.copy_(initial_weight(name, parameter.shape, SEED, model.initializer_range))
    tokens = global_batch()
    logits = whole(input_ids=tokens[:, :-1]).logits
    loss = functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    loss.backward()
    gradients = {name: parameter.grad for name, parameter in whole.named_parameters() if parameter.grad is not None}
    return Reference(loss.item(), gradients)


@cache
def mesh_of(pp: int, dp: int, tp: int) -> RankMesh:
    """One mesh a shape and process: DTensor's caches hold on to the groups of the first."""
    return build_mesh(tiny_plan(pp=pp, dp=dp, tp=tp), CPU)


def make_trainer(plan: Plan, hf_config: dict[str, Any], precision: Precision) -> tuple[Trainer, RankMesh]:
    mesh = mesh_of(plan.pp, plan.dp, plan.tp)
    workload = Workload(global_batch=GLOBAL_BATCH, seq_len=SEQ_LEN, precision=precision)
    return Trainer(HFCausalLM(hf_config), plan, workload, mesh, seed=SEED, lr=LR), mesh


def train_layout(plan: Plan, hf_config: dict[str, Any], precision: Precision, num_later_steps: int) -> Seen:
    trainer, mesh = make_trainer(plan, hf_config, precision)
    mine = global_batch().chunk(plan.dp)[mesh.index("dp")]
    parameter_bytes = sum(_local(p).numel() * p.element_size() for p in trainer.stage.parameters())
    with CollectiveCounter(mesh) as counter:
        loss = trainer.accumulate_gradients(mine)
    gradients = {name: whole(parameter.grad).clone() for name, parameter in trainer.stage.parameters_by_name()}
    trainer.optimizer.step()
    trainer.optimizer.zero_grad()
    later = [trainer.step(mine) for _ in range(num_later_steps)]
    return Seen(
        loss=None if loss is None else loss.item(),
        gradients=gradients,
        collectives=counter.counts,
        parameter_bytes=parameter_bytes,
        later_losses=[value.item() for value in later if value is not None],
    )


def initial_weights(plan: Plan, hf_config: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Every parameter of the rank's stage, whole, before training."""
    trainer, _ = make_trainer(plan, hf_config, Precision.FP32)
    return {name: whole(parameter).detach().clone() for name, parameter in trainer.stage.parameters_by_name()}


def whole(tensor: torch.Tensor | None) -> torch.Tensor:
    assert tensor is not None
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def _local(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


class CollectiveCounter(TorchDispatchMode):
    """Counts the collectives that start, by the mesh axis of their group; a coalesced one counts once."""

    OPERATIONS = ("all_gather", "reduce_scatter", "all_reduce", "send", "recv")

    def __init__(self, mesh: RankMesh) -> None:
        super().__init__()
        self.counts: Counter[tuple[str, str]] = Counter()
        self._axes = {mesh.group(axis).group_name: axis for axis in ("pp", "dp", "tp")}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if any(issubclass(kind, DTensor) for kind in types):
            return NotImplemented  # comes back as operations on the local tensors
        namespace, name = func._schema.name.split("::")
        operation = self._operation(name)
        if namespace in {"c10d", "_c10d_functional"} and operation is not None:
            self.counts[self._axis(args), operation] += 1
        return func(*args, **(kwargs or {}))

    def _operation(self, name: str) -> str | None:
        """What torch spells in several ways; None for a wait or a wrapper."""
        squeezed = name.replace("_", "")
        return next((operation for operation in self.OPERATIONS if operation.replace("_", "") in squeezed), None)

    def _axis(self, args: tuple[Any, ...]) -> str:
        for argument in args:
            if isinstance(argument, str) and argument in self._axes:
                return self._axes[argument]
            if isinstance(argument, torch.ScriptObject) and "ProcessGroup" in str(argument._type()):
                return self._axes[dist.ProcessGroup.unbox(argument).group_name]
        raise AssertionError(f"a collective outside the mesh: {args}")
