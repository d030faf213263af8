"""Decoders with mixtures of experts, and those with latent attention.

A mixture has a router h x E, E experts of three matrices h x f, and perhaps an expert that every token meets.
Source: the published descriptions and `modeling_*.py` of transformers.
"""

from __future__ import annotations

from tests.fuzz.formulas.decoders import attention, head_dim, kv_heads, mlp, stack
from tests.fuzz.formulas.keys import Keys


def _mixture(h: int, experts: int, f: int) -> int:
    return h * experts + experts * 3 * h * f


def mixtral(k: Keys) -> int:
    h, experts = k("hidden_size"), k("num_local_experts", "num_experts", default=8)
    block = attention(k, head_dim(k), kv_heads(k, 8)) + _mixture(h, experts, k("intermediate_size")) + 2 * h
    return stack(k, block, h)


def phimoe(k: Keys) -> int:
    h, bias = k("hidden_size"), k.flag("attention_bias", default=False)
    moe = _mixture(h, k("num_local_experts", default=16), k("intermediate_size"))
    block = attention(k, head_dim(k), kv_heads(k, 8), bias, bias) + moe + 4 * h
    return stack(k, block, 2 * h) + k.flag("lm_head_bias", default=False) * k("vocab_size")


def olmoe(k: Keys) -> int:
    h, a, kv, bias = k("hidden_size"), k("num_attention_heads"), kv_heads(k), k.flag("attention_bias", default=False)
    d = head_dim(k)
    moe = _mixture(h, k("num_experts", "num_local_experts", default=64), k("intermediate_size"))
    return stack(k, attention(k, d, kv, bias, bias) + (a + kv) * d + moe + 2 * h, h)


def granite_moe(k: Keys) -> int:
    h, bias = k("hidden_size"), k.flag("attention_bias", default=False)
    moe = _mixture(h, k("num_local_experts", default=8), k("intermediate_size"))
    return stack(k, attention(k, head_dim(k), kv_heads(k), bias, bias) + moe + 2 * h, h)


def granite_moe_shared(k: Keys) -> int:
    return granite_moe(k) + k("num_hidden_layers") * mlp(k("hidden_size"), k("shared_intermediate_size", default=0))


def _mixed(k: Keys, dense: int, sparse: int) -> int:
    """Feed-forward networks of all blocks: every `decoder_sparse_step`-th has experts, but not `mlp_only_layers`."""
    step, dense_layers = k("decoder_sparse_step", default=1), set(k("mlp_only_layers", default=[]))
    count = sum(1 for i in range(k("num_hidden_layers")) if i not in dense_layers and (i + 1) % step == 0)
    return count * sparse + (k("num_hidden_layers") - count) * dense


def qwen2_moe(k: Keys) -> int:
    h, experts = k("hidden_size"), k("num_experts", default=60)
    sparse = _mixture(h, experts, k("moe_intermediate_size")) + mlp(h, k("shared_expert_intermediate_size")) + h
    block = attention(k, head_dim(k), kv_heads(k, 16), k.flag("qkv_bias", default=True)) + 2 * h
    return stack(k, block, h) + _mixed(k, mlp(h, k("intermediate_size", default=5632)), sparse)


def qwen3_moe(k: Keys) -> int:
    h, d, bias = k("hidden_size"), head_dim(k), k.flag("attention_bias", default=False)
    sparse = _mixture(h, k("num_experts", "num_local_experts", default=128), k("moe_intermediate_size"))
    block = attention(k, d, kv_heads(k, 4), bias, bias) + 2 * d + 2 * h
    return stack(k, block, h) + _mixed(k, mlp(h, k("intermediate_size", default=6144)), sparse)


def gpt_oss(k: Keys) -> int:
    h, a, bias = k("hidden_size"), k("num_attention_heads"), k.flag("attention_bias", default=True)
    f, experts = k("intermediate_size"), k("num_local_experts", "num_experts", default=128)
    moe = h * experts + experts + experts * (3 * h * f + 2 * f + h)
    return stack(k, attention(k, head_dim(k, 64), kv_heads(k, 8), bias, bias) + a + moe + 2 * h, h)


def minimax_m2(k: Keys) -> int:
    h, a, kv, d = k("hidden_size"), k("num_attention_heads"), kv_heads(k, 8), head_dim(k, 128)
    moe = _mixture(h, k("num_local_experts", "num_experts", default=256), k("intermediate_size"))
    return stack(k, attention(k, d, kv) + (a + kv) * d + moe + 2 * h, h)


def dbrx(k: Keys) -> int:
    h, a, v = k("d_model", "hidden_size"), k("n_heads", "num_attention_heads"), k("vocab_size")
    kv, ffn = k.under("attn_config")("kv_n_heads", default=1), k.under("ffn_config")
    moe = _mixture(h, ffn("moe_num_experts", default=4), ffn("ffn_hidden_size", default=3584))
    block = h * (h + 2 * kv * (h // a)) + h * h + moe + 2 * h
    tables = v * h * (1 if k.flag("tie_word_embeddings", default=False) else 2)
    return tables + k("n_layers", "num_hidden_layers") * block + h


def glm4_moe(k: Keys) -> int:
    h, d, bias = k("hidden_size"), head_dim(k), k.flag("attention_bias", default=False)
    f, experts = k("moe_intermediate_size", default=1408), k("n_routed_experts", default=128)
    block = attention(k, d, kv_heads(k, 8), bias) + 2 * h + (2 * d if k.flag("use_qk_norm", default=False) else 0)
    sparse = _mixture(h, experts, f) + mlp(h, f * k("n_shared_experts", default=1))
    dense = min(k("first_k_dense_replace", default=1), k("num_hidden_layers"))
    return stack(k, block, h) + dense * mlp(h, k("intermediate_size")) + (k("num_hidden_layers") - dense) * sparse


def _latent_attention(k: Keys, q_rank: int | None, rank: int, nope: int, rope: int, v_dim: int) -> int:
    """Queries through a rank of their own, keys and values through another (arXiv 2405.04434)."""
    h, a, bias = k("hidden_size"), k("num_attention_heads"), k.flag("attention_bias", default=False)
    q = a * (nope + rope)
    queries = h * q if q_rank is None else h * q_rank + bias * q_rank + q_rank + q_rank * q
    keys = h * (rank + rope) + bias * (rank + rope) + rank + rank * a * (nope + v_dim)
    return queries + keys + a * v_dim * h + bias * h


def _latent(k: Keys, q_rank: int, rank: int, nope: int, rope: int, v_dim: int) -> int:
    return _latent_attention(
        k,
        k.missing_or_null("q_lora_rank", q_rank, None),
        k("kv_lora_rank", default=rank),
        k("qk_nope_head_dim", default=nope),
        k("qk_rope_head_dim", default=rope),
        k("v_head_dim", default=v_dim),
    )


def _deepseek(k: Keys, experts: int, f: int, shared: int, first: int, bias: bool = False) -> int:
    h, layers = k("hidden_size"), k("num_hidden_layers")
    f, experts = k("moe_intermediate_size", default=f), k("n_routed_experts", "num_local_experts", default=experts)
    sparse = _mixture(h, experts, f) + mlp(h, f * k("n_shared_experts", default=shared), 3, bias)
    dense = min(k("first_k_dense_replace", default=first), layers)
    block = _latent(k, 1536, 512, 128, 64, 128) + 2 * h
    return stack(k, block, h) + dense * mlp(h, k("intermediate_size"), 3, bias) + (layers - dense) * sparse


def deepseek_v2(k: Keys) -> int:
    return _deepseek(k, experts=64, f=1407, shared=2, first=0, bias=k.flag("mlp_bias", default=False))


def deepseek_v3(k: Keys) -> int:
    return _deepseek(k, experts=256, f=2048, shared=1, first=3)


def minicpm3(k: Keys) -> int:
    h = k("hidden_size")
    block = _latent(k, 768, 256, 64, 32, h // k("num_attention_heads")) + 2 * h
    return stack(k, block + mlp(h, k("intermediate_size"), 3, k.flag("mlp_bias", default=False)), h, tied=True)


FORMULAS = {
    "MixtralForCausalLM": mixtral,
    "PhimoeForCausalLM": phimoe,
    "OlmoeForCausalLM": olmoe,
    "GraniteMoeForCausalLM": granite_moe,
    "GraniteMoeSharedForCausalLM": granite_moe_shared,
    "Qwen2MoeForCausalLM": qwen2_moe,
    "Qwen3MoeForCausalLM": qwen3_moe,
    "GptOssForCausalLM": gpt_oss,
    "MiniMaxM2ForCausalLM": minimax_m2,
    "DbrxForCausalLM": dbrx,
    "Glm4MoeForCausalLM": glm4_moe,
    "DeepseekV2ForCausalLM": deepseek_v2,
    "DeepseekV3ForCausalLM": deepseek_v3,
    "MiniCPM3ForCausalLM": minicpm3,
}
