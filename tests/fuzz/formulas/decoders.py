"""Decoders after Llama: rotary positions, grouped queries, one norm before each half of a block or more.

    embedding  V h            attention  h (a + 2 k) d + a d h        a heads, k key and value heads, d wide
    head       V h or tied    feed-forward  2 or 3 matrices h x f

Norms over h have h parameters (root mean square, or a layer norm without bias) or 2 h (layer norm).
Source: the published descriptions and `modeling_*.py` of transformers.
"""

from __future__ import annotations

from tests.fuzz.formulas.keys import Keys


def head_dim(k: Keys, missing: int | None = None) -> int:
    """`head_dim`; where null, or missing in a class without a default of its own, the hidden size over the heads."""
    split = k("hidden_size") // k("num_attention_heads")
    return k.missing_or_null("head_dim", split if missing is None else missing, split)


def kv_heads(k: Keys, missing: int | None = None) -> int:
    """`num_key_value_heads`; where null, or missing in a class without a default, one for each head."""
    heads = k("num_attention_heads")
    return k.missing_or_null("num_key_value_heads", heads if missing is None else missing, heads)


def attention(k: Keys, d: int, kv: int, qkv_bias: bool = False, out_bias: bool = False) -> int:
    """Four matrices with their biases."""
    h, a = k("hidden_size"), k("num_attention_heads")
    qkv = (a + 2 * kv) * d
    return h * qkv + qkv * qkv_bias + a * d * h + h * out_bias


def mlp(h: int, f: int, matrices: int = 3, bias: bool = False) -> int:
    """Two matrices, or three with a gate."""
    return matrices * h * f + bias * ((matrices - 1) * f + h)


def stack(k: Keys, block: int, final_norm: int, tied: bool = False) -> int:
    """Embedding, `num_hidden_layers` equal blocks, final norm, head."""
    tables = k("vocab_size") * k("hidden_size") * (1 if k.flag("tie_word_embeddings", default=tied) else 2)
    return tables + k("num_hidden_layers") * block + final_norm


def llama(k: Keys, matrices: int = 3, norms: int = 2) -> int:
    h, bias = k("hidden_size"), k.flag("attention_bias", default=False)
    block = attention(k, head_dim(k), kv_heads(k), bias, bias) + norms * h
    return stack(k, block + mlp(h, k("intermediate_size"), matrices, k.flag("mlp_bias", default=False)), h)


def mistral(k: Keys, head_dim_missing: int | None = None) -> int:
    h = k("hidden_size")
    return stack(
        k, attention(k, head_dim(k, head_dim_missing), kv_heads(k, 8)) + mlp(h, k("intermediate_size")) + 2 * h, h
    )


def cwm(k: Keys) -> int:
    h, d = k("hidden_size"), head_dim(k, 128)
    block = attention(k, d, kv_heads(k, 8)) + 2 * h
    return stack(k, block + mlp(h, k("intermediate_size"), 3, k.flag("mlp_bias", default=False)), h)


def qwen2(k: Keys) -> int:
    h = k("hidden_size")
    return stack(k, attention(k, head_dim(k), kv_heads(k, 32), True) + mlp(h, k("intermediate_size")) + 2 * h, h)


def qwen3(k: Keys) -> int:
    h, d, bias = k("hidden_size"), head_dim(k, 128), k.flag("attention_bias", default=False)
    block = attention(k, d, kv_heads(k, 32), bias, bias) + 2 * d
    return stack(k, block + mlp(h, k("intermediate_size")) + 2 * h, h)


def gemma(k: Keys, kv: int = 4, norms: int = 4, has_qk_norm: bool = False) -> int:
    h, d, bias = k("hidden_size"), k("head_dim", default=256), k.flag("attention_bias", default=False)
    block = attention(k, d, kv_heads(k, kv), bias, bias) + has_qk_norm * 2 * d
    return stack(k, block + mlp(h, k("intermediate_size")) + norms * h, h, tied=True)


def gemma1(k: Keys) -> int:
    return gemma(k, kv=16, norms=2)


def gemma3(k: Keys) -> int:
    return gemma(k, has_qk_norm=True)


def gemma3_without_head(k: Keys) -> int:
    return gemma(Keys({**k.data, "tie_word_embeddings": True}), has_qk_norm=True)


def smollm3(k: Keys) -> int:
    h, bias = k("hidden_size"), k.flag("attention_bias", default=False)
    block = attention(k, head_dim(k), kv_heads(k, 4), bias, bias) + 2 * h
    return stack(k, block + mlp(h, k("intermediate_size"), 3, k.flag("mlp_bias", default=False)), h, tied=True)


def exaone4(k: Keys) -> int:
    h, d = k("hidden_size"), head_dim(k)
    return stack(k, attention(k, d, kv_heads(k, 32)) + 2 * d + mlp(h, k("intermediate_size")) + 2 * h, h)


def stablelm(k: Keys) -> int:
    h, a, kv = k("hidden_size"), k("num_attention_heads"), kv_heads(k, 32)
    d = h // a
    norms = 2 * h * (1 if k.flag("use_parallel_residual", default=False) else 2)
    head_norms = (a + kv) * d if k.flag("qk_layernorm", default=False) else 0
    block = attention(k, d, kv, k.flag("use_qkv_bias", default=False)) + head_norms + norms
    return stack(k, block + mlp(h, k("intermediate_size")), 2 * h)


def nemotron(k: Keys) -> int:
    h, bias = k("hidden_size"), k.flag("attention_bias", default=False)
    block = attention(k, head_dim(k), kv_heads(k), bias, bias) + 4 * h
    return stack(k, block + mlp(h, k("intermediate_size"), 2, k.flag("mlp_bias", default=False)), 2 * h)


def jais2(k: Keys) -> int:
    h, bias = k("hidden_size"), k.flag("attention_bias", default=True)
    block = attention(k, head_dim(k), kv_heads(k), bias, bias) + 4 * h
    return stack(k, block + mlp(h, k("intermediate_size"), 2, k.flag("mlp_bias", default=True)), 2 * h)


def seed_oss(k: Keys) -> int:
    h, bias, out_bias = (
        k("hidden_size"),
        k.flag("attention_bias", default=True),
        k.flag("attention_out_bias", default=False),
    )
    block = attention(k, head_dim(k, 128), kv_heads(k, 8), bias, out_bias) + 2 * h
    return stack(k, block + mlp(h, k("intermediate_size"), 3, k.flag("mlp_bias", default=False)), h)


def hunyuan(k: Keys) -> int:
    h, d, bias = k("hidden_size"), head_dim(k), k.flag("attention_bias", default=False)
    block = attention(k, d, kv_heads(k), bias, bias) + 2 * d + 2 * h
    return stack(k, block + mlp(h, k("intermediate_size")), h)


def ernie(k: Keys) -> int:
    h, bias = k("hidden_size"), k.flag("use_bias", default=False)
    block = attention(k, head_dim(k, 128), kv_heads(k, 2), bias, bias) + 2 * h
    return stack(k, block + mlp(h, k("intermediate_size"), 3, bias), h, tied=True)


def apertus(k: Keys) -> int:
    h, d, bias = k("hidden_size"), head_dim(k), k.flag("attention_bias", default=False)
    activation = 2 if k("hidden_act", default="xielu") == "xielu" else 0
    block = attention(k, d, kv_heads(k), bias, bias) + 2 * d + 2 * h + activation
    return stack(k, block + mlp(h, k("intermediate_size"), 2), h)


def arcee(k: Keys) -> int:
    return llama(k, matrices=2)


def hyperclovax(k: Keys) -> int:
    return llama(k, norms=4 if k.flag("use_post_norm", default=True) else 2)


def cohere(k: Keys) -> int:
    h, a, kv, bias = k("hidden_size"), k("num_attention_heads"), kv_heads(k), k.flag("attention_bias", default=False)
    d = head_dim(k)
    head_norms = (a + kv) * d if k.flag("use_qk_norm", default=False) else 0
    block = attention(k, d, kv, bias, bias) + head_norms + mlp(h, k("intermediate_size")) + h
    return stack(k, block, h, tied=True)


def cohere2(k: Keys) -> int:
    h, bias = k("hidden_size"), k.flag("attention_bias", default=False)
    block = attention(k, head_dim(k), kv_heads(k), bias, bias) + mlp(h, k("intermediate_size")) + h
    return stack(k, block, h, tied=True)


def starcoder2(k: Keys) -> int:
    h, bias = k("hidden_size"), k.flag("use_bias", default=True)
    block = attention(k, head_dim(k), kv_heads(k, 2), bias, bias) + mlp(h, k("intermediate_size"), 2, bias) + 4 * h
    return stack(k, block, 2 * h, tied=True)


def phi(k: Keys) -> int:
    h, d = k("hidden_size"), head_dim(k)
    head_norms = 4 * (h // k("num_attention_heads")) if k.flag("qk_layernorm", default=False) else 0
    block = attention(k, d, kv_heads(k), True, True) + head_norms + mlp(h, k("intermediate_size"), 2, True) + 2 * h
    return stack(k, block, 2 * h) + k("vocab_size")


def phi3(k: Keys) -> int:
    h = k("hidden_size")
    return stack(k, attention(k, head_dim(k), kv_heads(k)) + mlp(h, k("intermediate_size")) + 2 * h, h)


def olmo(k: Keys) -> int:
    h, bias = k("hidden_size"), k.flag("attention_bias", default=False)
    return stack(k, attention(k, head_dim(k), kv_heads(k), bias, bias) + mlp(h, k("intermediate_size")), 0)


def olmo2(k: Keys) -> int:
    h, a, kv, bias = k("hidden_size"), k("num_attention_heads"), kv_heads(k), k.flag("attention_bias", default=False)
    d = head_dim(k)
    block = attention(k, d, kv, bias, bias) + (a + kv) * d + mlp(h, k("intermediate_size")) + 2 * h
    return stack(k, block, h)


def glm(k: Keys, norms: int = 2) -> int:
    h = k("hidden_size")
    block = attention(k, head_dim(k, 128), kv_heads(k, 2), k.flag("attention_bias", default=True))
    return stack(k, block + mlp(h, k("intermediate_size")) + norms * h, h)


def glm4(k: Keys) -> int:
    return glm(k, norms=4)


FORMULAS = {
    "LlamaForCausalLM": llama,
    "GraniteForCausalLM": llama,
    "MistralForCausalLM": mistral,
    "MinistralForCausalLM": mistral,
    "Ministral3ForCausalLM": lambda k: mistral(k, 128),
    "CwmForCausalLM": cwm,
    "Qwen2ForCausalLM": qwen2,
    "Qwen3ForCausalLM": qwen3,
    "GemmaForCausalLM": gemma1,
    "Gemma2ForCausalLM": gemma,
    "Gemma3ForCausalLM": gemma3,
    "Gemma3TextModel": gemma3_without_head,
    "SmolLM3ForCausalLM": smollm3,
    "Exaone4ForCausalLM": exaone4,
    "StableLmForCausalLM": stablelm,
    "NemotronForCausalLM": nemotron,
    "Jais2ForCausalLM": jais2,
    "SeedOssForCausalLM": seed_oss,
    "HunYuanDenseV1ForCausalLM": hunyuan,
    "Ernie4_5ForCausalLM": ernie,
    "ApertusForCausalLM": apertus,
    "ArceeForCausalLM": arcee,
    "HyperCLOVAXForCausalLM": hyperclovax,
    "CohereForCausalLM": cohere,
    "Cohere2ForCausalLM": cohere2,
    "Starcoder2ForCausalLM": starcoder2,
    "PhiForCausalLM": phi,
    "Phi3ForCausalLM": phi3,
    "OlmoForCausalLM": olmo,
    "Olmo2ForCausalLM": olmo2,
    "Olmo3ForCausalLM": olmo2,
    "GlmForCausalLM": glm,
    "Glm4ForCausalLM": glm4,
}
