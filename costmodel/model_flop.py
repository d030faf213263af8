"""Model FLOP: the arithmetic that a step needs whatever the layout; what MFU counts."""

from __future__ import annotations

from costmodel.spec import ModelSpec, Workload

BACKWARD_RATIO = 2
"""Backward does twice the forward's FLOP; recomputation is not counted."""


def model_flop_per_step(model: ModelSpec, workload: Workload) -> float:
    """FLOP of one step of the whole job: matrix multiplications and attention with its causal half, 3x forward."""
    forward_flop = sum(
        run.count * op.flop for run in model.runs for op in run.layer.operations(1, run.num_tokens or workload.seq_len)
    )
    return (1 + BACKWARD_RATIO) * forward_flop * workload.global_batch
