"""Eager PyTorch that shards flat buffers: FSDP1, and DeepSpeed's ZeRO around Hugging Face models.

Of the stack of our own executor, which is eager too, it differs in what its time taught: reentrant checkpointing
repeats whole blocks, and flat buffers need no copies around the collectives.
"""

from __future__ import annotations

from costmodel.stacks.evidence import CODE, KnownStack
from costmodel.stacks.native import KNOWN_NATIVE_CUDA, NATIVE_CUDA

EAGER_FSDP = NATIVE_CUDA.model_copy(
    update={
        "name": "eager-fsdp",
        "tensor_dispatch_s_per_pass": None,
        "recompute_stops_early": False,
        "copies_around_sharded_weights": False,
    }
)

KNOWN_EAGER_FSDP = KnownStack(
    EAGER_FSDP,
    {
        **KNOWN_NATIVE_CUDA.supported_by,
        "tensor_dispatch_s_per_pass": CODE,
    },
)
