"""Pays one-time costs before they can distort a measurement: lazy imports, kernels, allocator and thread pools.

Done in the parent, forked ranks inherit the imports; done in a rank, what libraries keep for themselves is not counted
as memory of the run.
"""

from __future__ import annotations

import torch

from executor.models import HFCausalLM
from executor.models.initial_weights import fill

TINY = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 256,
}


def warm_up(device: torch.device) -> None:
    """Train a tiny model for one step on `device`."""
    model = HFCausalLM(TINY)
    stage = model.build_stage(range(model.num_layers))
    stage.materialize(device)
    fill(stage, seed=0, std=model.initializer_range)
    ids = model.example_input(0, micro_batch=2, seq_len=32, device=device, dtype=torch.float32)
    optimizer = torch.optim.AdamW(stage.parameters(), fused=True)
    for dtype in (torch.float32, torch.bfloat16):
        with torch.autocast(device.type, dtype=dtype, enabled=dtype is torch.bfloat16):
            model.loss(stage(ids), ids).backward()  # type: ignore[no-untyped-call]
    optimizer.step()
