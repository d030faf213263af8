"""Model families as data: what each Hugging Face class makes of its config keys and of keys that are not there.

A family is one row of `FAMILIES`. The defaults are those of the class's own config in transformers 5.24; they matter
because `params_total` counts what that class builds. Layers, widths, heads and vocabulary never default.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Family:
    """A dense pre-norm decoder with a gated feed-forward network, as one Hugging Face class builds it."""

    architecture: str
    model_type: str
    kv_heads_default: int | None = None
    """num_key_value_heads where the key is missing; None means one per attention head (also what null means)."""
    head_dim_default: int | None = None
    """head_dim where the key is missing; None means hidden_size / num_attention_heads."""
    head_dim_free: bool = True
    """Whether the class reads the key head_dim at all."""
    qkv_bias: bool = False
    """Queries, keys and values always have a bias."""
    reads_attention_bias: bool = False
    """The key attention_bias adds a bias to queries, keys, values and the output projection."""
    reads_mlp_bias: bool = False
    """The key mlp_bias adds a bias to the feed-forward network."""
    qk_norm: bool = False
    """Queries and keys are normalised per head."""
    window_default: int | None = None
    """Attention window where the key sliding_window is missing."""
    window_needs_switch: bool = False
    """The key sliding_window counts only where use_sliding_window is true."""


FAMILIES = (
    Family("LlamaForCausalLM", "llama", reads_attention_bias=True, reads_mlp_bias=True),
    Family("MistralForCausalLM", "mistral", kv_heads_default=8, window_default=4096),
    Family("Qwen2ForCausalLM", "qwen2", kv_heads_default=32, qkv_bias=True, window_needs_switch=True),
    Family(
        "Qwen3ForCausalLM",
        "qwen3",
        kv_heads_default=32,
        head_dim_default=128,
        reads_attention_bias=True,
        qk_norm=True,
        window_needs_switch=True,
    ),
)

MOE_KEYS = (
    "num_experts",
    "num_local_experts",
    "n_routed_experts",
    "num_routed_experts",
    "moe_num_experts",
    "num_experts_per_tok",
    "moe_intermediate_size",
    "n_shared_experts",
)
"""Keys that say mixture of experts, whatever the class is called."""

NESTED_KEYS = ("text_config", "vision_config", "audio_config", "llm_config", "ffn_config", "attn_config")
"""Keys of models that hold other models."""

ACTIVATIONS = ("silu", "swish", "gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "quick_gelu", "relu", "relu2")
"""Values of hidden_act: one element-wise function each, without parameters of its own."""
