"""JAX compiled by XLA (Alpa, MaxText): fused element-wise work, and a step that is launched once.

Weights and gradients are kept as Alpa's memory shows: 12 bytes of optimizer state, and two each of weights and
gradients. Attention is taken to be fused, as MaxText's is; Alpa's of 2022 may write its scores.
"""

from __future__ import annotations

from costmodel.stacks.evidence import ASSUMED, CODE, KnownStack, runs
from costmodel.stacks.megatron_core import KNOWN_MEGATRON_CORE, MEGATRON_CORE

XLA = MEGATRON_CORE.model_copy(
    update={
        "name": "xla",
        "grad_bytes_per_param": 2,
        "gradients_preallocated": False,
        "grad_reduce_overlap_frac": 0.2,
        "param_gather_overlap_frac": 0.4,
        "launch_s_per_layer": 0.0,
        "step_overhead_s": 0.0,
    }
)

KNOWN_XLA = KnownStack(
    XLA,
    {
        **KNOWN_MEGATRON_CORE.supported_by,
        "elementwise_traffic_factor": runs("alpa-intra", "alpa-weak", "dgxc"),
        "grad_bytes_per_param": runs("alpa-intra"),
        "gradients_preallocated": ASSUMED,
        "logits_bytes_per_logit": ASSUMED,
        "score_bytes_kept": ASSUMED,
        "attention_time_factor": ASSUMED,
        "grad_reduce_overlap_frac": runs("alpa-intra", "alpa-weak"),
        "param_gather_overlap_frac": runs("dgxc"),
        "launch_s_per_layer": CODE,
        "step_overhead_s": CODE,
    },
)
