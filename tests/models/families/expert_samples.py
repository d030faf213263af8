"""Small configs with experts, and the published ones of the tests, read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from costmodel.spec import Block, ModelSpec
from planner.models.read import read_model

CONFIGS = Path(__file__).parent.parent / "configs"

SIZES: dict[str, Any] = {
    "hidden_size": 16,
    "intermediate_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 10,
    "num_experts_per_tok": 2,
}
"""Queries of 4 heads of 4 (16 x 16), keys and values of 2 (16 x 8 each), output (16 x 16): 768 parameters."""

LATENT_SIZES: dict[str, Any] = {
    **SIZES,
    "num_attention_heads": 2,
    "q_lora_rank": 6,
    "kv_lora_rank": 5,
    "qk_nope_head_dim": 3,
    "qk_rope_head_dim": 2,
    "v_head_dim": 4,
    "moe_intermediate_size": 3,
    "n_routed_experts": 4,
    "n_shared_experts": 1,
}
"""Latent attention: queries 16 x 6 down, norm 6, 6 x 2 x 5 up; keys and values 16 x 7 down, norm 5, 5 x 2 x 7 up;
output 2 x 4 x 16: 96 + 6 + 60 + 112 + 5 + 70 + 128 = 477 parameters.

Experts: 4 x 3 x 16 x 3 = 576, router 4 x 16 = 64, shared 3 x 16 x 3 = 144: 784 parameters."""


def reader(architecture: str, sizes: dict[str, Any], **base: Any) -> Callable[..., ModelSpec]:
    """Reads a config of `architecture` with `sizes` and `base`, changed; a change to `...` removes the key."""

    def read(**changes: Any) -> ModelSpec:
        data = {"architectures": [architecture], **sizes, **base, **changes}
        return read_model({key: value for key, value in data.items() if value is not ...}, "here", "small")

    return read


def published(name: str) -> ModelSpec:
    """The model of the config of that name in the tests."""
    return read_model(json.loads((CONFIGS / f"{name}.json").read_text(encoding="utf-8")), name, name)


def block_params(model: ModelSpec) -> list[int]:
    """Parameters of each block."""
    return [block.num_params() for block in model.blocks]


def mixer_kinds(model: ModelSpec) -> list[str]:
    """Kind of the mixer of each block."""
    return [block.mixer.kind for block in model.blocks if isinstance(block, Block) and block.mixer is not None]


def feed_forward_kinds(model: ModelSpec) -> list[str]:
    """Kind of the feed-forward network of each block."""
    blocks = [block for block in model.blocks if isinstance(block, Block)]
    return [block.feed_forward.kind for block in blocks if block.feed_forward is not None]


def windows(model: ModelSpec) -> list[int | None]:
    """Window of the attention of each block."""
    return [getattr(block.mixer, "window", None) for block in model.blocks if isinstance(block, Block)]
