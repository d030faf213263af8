"""A framework that nobody told us about: what most of them do, and between them where they differ.

Element-wise traffic is the geometric mean of fused and eager stacks, host time likewise; half of the data-parallel
traffic of a well-overlapping stack is hidden.
"""

from __future__ import annotations

from costmodel.spec import Precision, SoftwareStack
from costmodel.stacks.evidence import ASSUMED, KnownStack

GENERIC = SoftwareStack(
    name="generic",
    elementwise_traffic_factor=1.67,
    norm_keeps_fp32_copy=False,
    mlp_activation_fused=False,
    gathered_input_saved=True,
    grad_bytes_per_param=4,
    weights_stored_in_fp32=False,
    gradients_preallocated=True,
    pipeline_buffer_per_microbatch=False,
    logits_bytes_per_logit={Precision.BF16: 8.0, Precision.FP16: 8.0, Precision.FP32: 8.0},
    grad_reduce_overlap_frac=0.3,
    param_gather_overlap_frac=0.3,
    reduces_whole_gradients_each_microbatch=False,
    copies_around_sharded_weights=False,
    recompute_stops_early=False,
    launch_s_per_layer=0.5e-3,
    tensor_dispatch_s_per_pass=None,
    step_overhead_s=9e-3,
)

KNOWN_GENERIC = KnownStack(GENERIC, {name: ASSUMED for name in SoftwareStack.model_fields if name != "name"})
