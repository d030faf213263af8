"""Megatron-DeepSpeed: Megatron's tensor parallelism of 2021 in DeepSpeed's pipeline and ZeRO.

Kernels are hardly fused (2.25 times the least element-wise traffic), attention writes its scores, a fifth of
the traffic overlaps, and a block takes a millisecond of host time per pass, which small models on A100 show.
"""

from __future__ import annotations

from costmodel.stacks.evidence import CODE, KnownStack, runs
from costmodel.stacks.megatron_lm import KNOWN_MEGATRON_LM, MEGATRON_LM

MEGATRON_DEEPSPEED = MEGATRON_LM.model_copy(
    update={
        "name": "megatron-deepspeed",
        "elementwise_traffic_factor": 2.25,
        "mlp_activation_fused": False,
        "launch_s_per_layer": 1e-3,
    }
)

KNOWN_MEGATRON_DEEPSPEED = KnownStack(
    MEGATRON_DEEPSPEED,
    {
        **KNOWN_MEGATRON_LM.supported_by,
        "elementwise_traffic_factor": runs("bs-tr11", "bs-v100", "vtrain-multi", "vtrain-single"),
        "mlp_activation_fused": CODE,
        "grad_reduce_overlap_frac": runs("bs-tr11", "bs-v100", "vtrain-multi", "vtrain-single"),
        "param_gather_overlap_frac": runs("bs-v100"),
        "launch_s_per_layer": runs("vtrain-single"),
    },
)
