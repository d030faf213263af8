"""Our own executor on eager PyTorch: FSDP2, DTensor and torch's pipelining.

The tensors kept for backward are those of eager Hugging Face blocks, counted one by one: 1,552 MiB of a Llama-70B
block at 4,096 tokens, where autograd keeps 1,555 (also softmax statistics and rotary tables). Blocks of other kinds
are held to traces of theirs; state-space layers, linear attention, ALiBi and attention to picked keys are counted as
fused kernels instead (`costmodel.capability`). Traffic and overlap on GPUs are those that published runs of
eager FSDP support (2.25 times the least element-wise traffic, hardly any overlap).
"""

from __future__ import annotations

from costmodel.spec import Precision, SoftwareStack
from costmodel.stacks.evidence import ASSUMED, BY_CODE, Basis, KnownStack, runs

NATIVE_CUDA = SoftwareStack(
    name="native-cuda",
    elementwise_traffic_factor=2.25,
    norm_keeps_fp32_copy=True,
    mlp_activation_fused=False,
    gathered_input_saved=True,
    grad_bytes_per_param=4,
    weights_stored_in_fp32=True,
    gradients_preallocated=False,
    pipeline_buffer_per_microbatch=True,
    logits_bytes_per_logit={Precision.BF16: 8.0, Precision.FP16: 8.0, Precision.FP32: 8.0},
    grad_reduce_overlap_frac=0.2,
    param_gather_overlap_frac=0.2,
    reduces_whole_gradients_each_microbatch=False,
    copies_around_sharded_weights=True,
    recompute_stops_early=True,
    launch_s_per_layer=1e-3,
    tensor_dispatch_s_per_pass=0.0,
    step_overhead_s=9e-3,
)
"""1 ms of host time per block and pass: what launch-bound eager runs on A100 support; 9 ms per step likewise. What
DTensor adds to it on the host of a GPU is unknown until a profile times it; no published run says."""

NATIVE_CPU = NATIVE_CUDA.model_copy(
    update={
        "name": "native-cpu",
        "grad_reduce_overlap_frac": 0.0,
        "param_gather_overlap_frac": 0.0,
        "launch_s_per_layer": 0.0,
        "tensor_dispatch_s_per_pass": 20e-3,
        "step_overhead_s": 0.0,
    }
)
"""On a CPU gloo and the passes share the cores, so nothing hides, and launching is the compute itself.

Where no profile times the dispatch of sharded tensors it is taken as 20 ms a pass: four profiles of a machine with 2
cores at 2 GHz found 13 to 18 ms forward and 19 to 21 ms backward (benchmarks/results/local_accuracy.json)."""

_LOCAL = Basis("what runs of our own on CPU ranks showed (benchmarks/results/local_accuracy.json)")

KNOWN_NATIVE_CUDA = KnownStack(
    NATIVE_CUDA,
    {
        **BY_CODE,
        "elementwise_traffic_factor": runs("llmf", "xtuner"),
        "grad_reduce_overlap_frac": runs("llmf", "xtuner"),
        "param_gather_overlap_frac": runs("llmf", "xtuner"),
        "launch_s_per_layer": runs("vtrain-single"),
        "tensor_dispatch_s_per_pass": ASSUMED,
        "step_overhead_s": runs("vtrain-single"),
    },
)

KNOWN_NATIVE_CPU = KnownStack(
    NATIVE_CPU,
    {
        **KNOWN_NATIVE_CUDA.supported_by,
        "elementwise_traffic_factor": _LOCAL,
        "grad_reduce_overlap_frac": _LOCAL,
        "param_gather_overlap_frac": _LOCAL,
        "launch_s_per_layer": _LOCAL,
        "tensor_dispatch_s_per_pass": _LOCAL,
        "step_overhead_s": _LOCAL,
    },
)
