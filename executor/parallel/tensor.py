"""Tensor parallelism with sequence parallelism (arXiv 1909.08053, 2205.05198), by DTensor.

Per block and micro-batch each rank takes part in two all-gathers and two reduce-scatters forward and in as many
backward, each of one hidden tensor [b, s, h]:

    norm (slice of the sequence) -> all-gather -> attention or MLP (1 / tp of heads or columns) -> reduce-scatter

Embedding: its table is cut by rows; one reduce-scatter forward, one all-gather backward. Head: one all-gather forward,
one reduce-scatter backward; the loss on logits cut by vocabulary all-reduces three numbers per token. Norm weights are
on every rank, their gradients are sums over slices of the sequence: one small all-reduce per norm at the reduction.
"""

from __future__ import annotations

import torch
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    ParallelStyle,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)
from torch.nn import functional

from executor.models.stage import Stage

SEQUENCE_DIM = 1
HEADS_DIM = 2
"""Of queries and keys [b, s, heads, head_dim] when they are normalised."""


def apply(stage: Stage, mesh: DeviceMesh) -> None:
    """Cut a stage on the meta device over the one-dimensional `mesh`; nothing is communicated."""
    if mesh.size() == 1:
        return
    plan: dict[str, ParallelStyle] = {}
    if stage.has_embedding:
        plan["model.embed_tokens"] = RowwiseParallel(
            input_layouts=Replicate(), output_layouts=Shard(SEQUENCE_DIM), use_local_output=True
        )
    for name, block in stage.model.layers.items():
        styles = _block_styles(has_qk_norm=hasattr(block.self_attn, "q_norm"))
        plan |= {f"model.layers.{name}.{part}": style for part, style in styles.items()}
    if stage.has_head:
        plan["model.norm"] = SequenceParallel()
        plan["lm_head"] = ColwiseParallel(input_layouts=Shard(SEQUENCE_DIM), output_layouts=Shard(-1))
    tied = stage.tied
    parallelize_module(stage, mesh, plan, src_data_rank=None)
    if tied:
        # Both cuts are by rows of the one table; each made a parameter of its own.
        stage.lm_head.weight = stage.model.embed_tokens.weight
    stage.sequence_slices = mesh.size()


def vocabulary_parallel_loss(logits: torch.Tensor, target: torch.Tensor, mesh: DeviceMesh) -> torch.Tensor:
    """Mean cross-entropy in fp32 of this rank's logits [b, s, v / tp] against token ids [b, s].

    Must run, with its backward, inside `loss_parallel()`.
    """
    if mesh.size() == 1:
        return functional.cross_entropy(logits.float().flatten(0, 1), target.flatten())
    whole = DTensor.from_local(logits.float().flatten(0, 1), mesh, [Shard(-1)], run_check=False)
    loss = functional.cross_entropy(whole, target.flatten())
    assert isinstance(loss, DTensor)
    return loss.to_local()


def _block_styles(has_qk_norm: bool) -> dict[str, ParallelStyle]:
    # The gathered input stays a DTensor, so that the gradients of queries, keys and values are added before they are
    # reduced: one reduce-scatter instead of three all-reduces.
    styles: dict[str, ParallelStyle] = {
        "input_layernorm": SequenceParallel(),
        "self_attn": PrepareModuleInput(
            input_kwarg_layouts={"hidden_states": Shard(SEQUENCE_DIM)},
            desired_input_kwarg_layouts={"hidden_states": Replicate()},
        ),
        "self_attn.q_proj": ColwiseParallel(),
        "self_attn.k_proj": ColwiseParallel(),
        "self_attn.v_proj": ColwiseParallel(),
        "self_attn.o_proj": RowwiseParallel(output_layouts=Shard(SEQUENCE_DIM)),
        "post_attention_layernorm": SequenceParallel(),
        "mlp": PrepareModuleInput(input_layouts=(Shard(SEQUENCE_DIM),), desired_input_layouts=(Replicate(),)),
        "mlp.gate_proj": ColwiseParallel(),
        "mlp.up_proj": ColwiseParallel(),
        "mlp.down_proj": RowwiseParallel(output_layouts=Shard(SEQUENCE_DIM)),
    }
    if has_qk_norm:
        # One weight for all heads: what a sequence is to the other norms, the heads are to these.
        styles["self_attn.q_norm"] = SequenceParallel(sequence_dim=HEADS_DIM, use_local_output=True)
        styles["self_attn.k_norm"] = SequenceParallel(sequence_dim=HEADS_DIM, use_local_output=True)
    return styles


__all__ = ["apply", "loss_parallel", "vocabulary_parallel_loss"]
