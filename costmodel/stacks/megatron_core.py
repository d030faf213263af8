"""Megatron-Core: fused kernels, low-precision weights beside an fp32 copy, overlapped data-parallel traffic.

Values from a fit of published Megatron-Core runs: element-wise traffic 1.24 times the least; at least 0.46 of the
gradient reduction stays exposed. Host time per layer is assumed: no undisturbed launch-bound run is published.
"""

from __future__ import annotations

from costmodel.spec import Precision, SoftwareStack
from costmodel.stacks.evidence import ASSUMED, BY_CODE, CODE, KnownStack, runs

MEGATRON_CORE = SoftwareStack(
    name="megatron-core",
    elementwise_traffic_factor=1.24,
    norm_keeps_fp32_copy=False,
    mlp_activation_fused=True,
    gathered_input_saved=False,
    grad_bytes_per_param=4,
    weights_stored_in_fp32=False,
    gradients_preallocated=True,
    pipeline_buffer_per_microbatch=False,
    logits_bytes_per_logit={Precision.BF16: 4.0, Precision.FP16: 4.0, Precision.FP32: 8.0},
    grad_reduce_overlap_frac=0.54,
    param_gather_overlap_frac=0.54,
    reduces_whole_gradients_each_microbatch=False,
    copies_around_sharded_weights=False,
    recompute_stops_early=False,
    launch_s_per_layer=0.25e-3,
    tensor_dispatch_s_per_pass=None,
    step_overhead_s=9e-3,
)

KNOWN_MEGATRON_CORE = KnownStack(
    MEGATRON_CORE,
    {
        **BY_CODE,
        "elementwise_traffic_factor": runs("dgxc", "mbridge", "nemo", "simumax"),
        "logits_bytes_per_logit": runs("simumax"),
        "grad_reduce_overlap_frac": runs("dgxc", "mbridge", "nemo"),
        "param_gather_overlap_frac": runs("dgxc", "mbridge", "nemo"),
        "launch_s_per_layer": ASSUMED,
        "tensor_dispatch_s_per_pass": CODE,
        "step_overhead_s": runs("vtrain-single"),
    },
)
