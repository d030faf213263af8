"""Small configs of classes that transformers has, and what tracing makes of them."""

from __future__ import annotations

from typing import Any

import torch

from costmodel.spec import ModelSpec
from profiler.tracing import trace_config

DECODER: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "vocab_size": 100,
    "max_position_embeddings": 600,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}

EXPERTS = {"num_local_experts": 8, "num_experts_per_tok": 2}


def config(architecture: str, model_type: str, **sizes: Any) -> dict[str, Any]:
    """A small decoder of a class, with sizes of its own."""
    return {"architectures": [architecture], "model_type": model_type, **DECODER, **sizes}


def trace(data: dict[str, Any]) -> ModelSpec:
    """The model that the class of a config makes, by its trace."""
    return trace_config(data, "here", "small")


def built(data: dict[str, Any]) -> int:
    """Parameters of the class as transformers builds it."""
    import transformers

    kind = getattr(transformers, data["architectures"][0])
    with torch.device("meta"):
        return sum(weight.numel() for weight in kind(kind.config_class.from_dict(data)).parameters())


def without(data: dict[str, Any], *keys: str) -> dict[str, Any]:
    """A config that leaves keys out."""
    return {key: value for key, value in data.items() if key not in keys}


HELIUM = config("HeliumForCausalLM", "helium", head_dim=8)

XGLM = {
    "architectures": ["XGLMForCausalLM"],
    "model_type": "xglm",
    "d_model": 64,
    "num_layers": 3,
    "attention_heads": 8,
    "ffn_dim": 96,
    "vocab_size": 100,
}
