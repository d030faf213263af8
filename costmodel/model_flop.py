"""Model FLOP: the arithmetic that a step needs whatever the layout; what MFU counts."""

from __future__ import annotations

from costmodel.spec import ModelSpec, Workload


def model_flop_per_step(model: ModelSpec, workload: Workload) -> float:
    """FLOP of one step of the whole job: matrix multiplications and attention with its causal half, 3x forward where
    input and weight have gradients. Recomputation is not counted."""
    flop = sum(
        run.count * (1 + op.num_gradients) * op.flop
        for run in model.runs
        for op in run.layer.operations(1, run.num_tokens or workload.seq_len)
    )
    return flop * workload.global_batch
