"""Megatron-LM of 2021: fused kernels, but attention that writes its scores, and gradients reduced after backward.

Of each score softmax's result, what dropout made of it and its mask are kept: 4.7 bytes, as published peaks show it.
fp16 gradients are accumulated in two bytes and reduced by a plain data-parallel wrapper (arXiv 2104.04473), which
hides as little of it as published runs show: a fifth.
"""

from __future__ import annotations

from costmodel.stacks.evidence import ASSUMED, CODE, KnownStack, runs
from costmodel.stacks.megatron_core import KNOWN_MEGATRON_CORE, MEGATRON_CORE

MEGATRON_LM = MEGATRON_CORE.model_copy(
    update={
        "name": "megatron-lm",
        "grad_bytes_per_param": 2,
        "score_bytes_kept": 4.7,
        "grad_reduce_overlap_frac": 0.2,
        "param_gather_overlap_frac": 0.2,
        "launch_s_per_layer": 0.5e-3,
    }
)

KNOWN_MEGATRON_LM = KnownStack(
    MEGATRON_LM,
    {
        **KNOWN_MEGATRON_CORE.supported_by,
        "elementwise_traffic_factor": runs("sc21", "seqsel"),
        "grad_bytes_per_param": CODE,
        "score_bytes_kept": runs("bs-tr11", "bs-v100"),
        "grad_reduce_overlap_frac": runs("sc21", "seqsel"),
        "param_gather_overlap_frac": runs("sc21"),
        "launch_s_per_layer": ASSUMED,
    },
)
