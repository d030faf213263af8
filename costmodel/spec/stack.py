"""SoftwareStack: what a training framework does to time and memory."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from costmodel.spec.base import Document
from costmodel.spec.workload import Precision

MAX_HOST_S = 3600.0
"""Of a step or a pass; an hour is a mistake."""
MAX_BYTES_PER_LOGIT = 64.0
"""Sixteen copies in fp32."""
MAX_TRAFFIC_FACTOR = 1000.0


class SoftwareStack(Document):
    """Constants of one framework; `costmodel.stacks` holds the known ones and where each value comes from."""

    SCHEMA: ClassVar[str] = "stack/1"

    name: str = Field(min_length=1)
    elementwise_traffic_factor: float = Field(gt=0, le=MAX_TRAFFIC_FACTOR)
    """Bytes moved by element-wise work over the least possible: low where kernels are fused, high where eager."""
    norm_keeps_fp32_copy: bool
    """Whether each norm saves a four-byte copy of its input for backward."""
    mlp_activation_fused: bool
    """Whether activation and product of a gated feed-forward network are one kernel (one saved tensor fewer)."""
    grad_bytes_per_param: int = Field(ge=2, le=4)
    """Bytes of an accumulated gradient."""
    weights_stored_in_fp32: bool
    """Whether the stored weights are fp32 and cast when used (FSDP2), so that the optimizer needs no copy of its
    own; else low-precision weights stay whole through the step and the optimizer owns an fp32 copy (Megatron)."""
    gathered_input_saved: bool
    """Whether tensor parallelism keeps the gathered input of each half block instead of gathering it again."""
    gradients_preallocated: bool
    """Whether one buffer holds gradients all the time, whole ones below ZeRO-2; else they come with the backward
    pass."""
    pipeline_buffer_per_microbatch: bool
    """Whether a pipeline stage keeps a receive buffer for every micro-batch of the step."""
    score_bytes_kept: float = Field(default=0.0, ge=0, le=MAX_BYTES_PER_LOGIT)
    """Bytes kept for backward of every attention score, where these are written to memory; 0 for a fused kernel,
    which writes none."""
    attention_time_factor: float = Field(default=1.0, gt=0, le=MAX_TRAFFIC_FACTOR)
    """Time of attention over that of a current fused kernel: one that skips no hidden pair takes about twice as
    long."""
    logits_bytes_per_logit: dict[Precision, Annotated[float, Field(ge=0, le=MAX_BYTES_PER_LOGIT)]]
    """Bytes alive per logit at the start of backward beyond the saved fp32 log-probabilities, by precision name."""
    grad_reduce_overlap_frac: float = Field(ge=0, le=1)
    """Share of the gradient reduction that hides behind the backward pass of the last micro-batch."""
    param_gather_overlap_frac: float = Field(ge=0, le=1)
    """Share of the ZeRO-3 traffic of a micro-batch that hides behind its compute."""
    reduces_whole_gradients_each_microbatch: bool
    """Whether ZeRO-0 without a pipeline reduces gradients after every micro-batch instead of once per step."""
    copies_around_sharded_weights: bool
    """Whether ZeRO copies each layer's weights and gradients out of and into buffers of the collectives (FSDP2)."""
    recompute_stops_early: bool
    """Whether repeating a block ends with the last tensor that backward needs: its last multiplication and the
    reduce-scatter behind it are then not repeated."""
    launch_s_per_layer: float = Field(ge=0, le=MAX_HOST_S)
    """Host time to launch one block's pass; compute below it does not get faster."""
    tensor_dispatch_s_per_pass: float | None = Field(ge=0, le=MAX_HOST_S)
    """Host time that tensor parallelism adds to a block's pass where no profile has timed it; None where tensors
    know nothing of being sharded (Megatron), or compilation has resolved it (torchtitan)."""
    step_overhead_s: float = Field(ge=0, le=MAX_HOST_S)
    """Time per step outside forward, backward, communication and optimizer."""
