"""torchtitan: FSDP2 with compiled blocks.

Compilation fuses norms and activations, so traffic and saved tensors are those of a fused stack; sharding, fp32
storage and fp32 gradient reduction are FSDP2's. Overlap is that of published FSDP runs.
"""

from __future__ import annotations

from costmodel.spec import Precision, SoftwareStack
from costmodel.stacks.evidence import ASSUMED, BY_CODE, CODE, KnownStack, runs

TORCHTITAN = SoftwareStack(
    name="torchtitan",
    elementwise_traffic_factor=1.24,
    norm_keeps_fp32_copy=False,
    mlp_activation_fused=True,
    gathered_input_saved=True,
    grad_bytes_per_param=4,
    weights_stored_in_fp32=True,
    gradients_preallocated=False,
    pipeline_buffer_per_microbatch=True,
    logits_bytes_per_logit={Precision.BF16: 8.0, Precision.FP16: 8.0, Precision.FP32: 8.0},
    grad_reduce_overlap_frac=0.2,
    param_gather_overlap_frac=0.2,
    reduces_whole_gradients_each_microbatch=True,
    copies_around_sharded_weights=True,
    recompute_stops_early=False,
    launch_s_per_layer=0.25e-3,
    tensor_dispatch_s_per_pass=None,
    step_overhead_s=9e-3,
)

KNOWN_TORCHTITAN = KnownStack(
    TORCHTITAN,
    {
        **BY_CODE,
        "elementwise_traffic_factor": runs("dgxc", "mbridge", "nemo", "simumax"),
        "grad_reduce_overlap_frac": runs("llmf", "xtuner"),
        "param_gather_overlap_frac": runs("llmf", "xtuner"),
        "launch_s_per_layer": ASSUMED,
        "tensor_dispatch_s_per_pass": CODE,
        "step_overhead_s": runs("vtrain-single"),
    },
)
