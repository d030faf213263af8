"""Decoders after GPT-2 and GPT-3: layer norms and biases, feed-forward networks of two matrices.

With width h, a block has attention 4 h^2 + 4 h, feed-forward 2 h f + f + h and two layer norms of 2 h, unless its
class leaves biases out or shares keys and values. Source: the published descriptions and `modeling_*.py` of
transformers.
"""

from __future__ import annotations

from tests.fuzz.formulas.keys import Keys


def _two_matrices(h: int, f: int, bias: bool = True) -> int:
    return 2 * h * f + bias * (f + h)


def gpt2(k: Keys) -> int:
    h = k("n_embd", "hidden_size")
    f = k("n_inner", default=4 * h)
    block = 4 * h * h + 4 * h + _two_matrices(h, f) + 4 * h
    tables = k("vocab_size") * (1 if k.flag("tie_word_embeddings", default=True) else 2)
    positions = k("n_positions", "max_position_embeddings", default=1024)
    return h * (tables + positions) + k("n_layer", "num_hidden_layers") * block + 2 * h


def gpt_bigcode(k: Keys) -> int:
    h = k("n_embd", "hidden_size")
    f = k("n_inner", default=4 * h)
    kv = h // k("n_head", "num_attention_heads") if k.flag("multi_query", default=True) else h
    block = h * (h + 2 * kv) + h + 2 * kv + h * h + h + _two_matrices(h, f) + 4 * h
    tables = k("vocab_size") * (1 if k.flag("tie_word_embeddings", default=True) else 2)
    positions = k("n_positions", "max_position_embeddings", default=1024)
    return h * (tables + positions) + k("n_layer", "num_hidden_layers") * block + 2 * h


def gpt_neo(k: Keys) -> int:
    h = k("hidden_size")
    f = k("intermediate_size", default=4 * h)
    block = 4 * h * h + h + _two_matrices(h, f) + 4 * h
    tables = k("vocab_size") * (1 if k.flag("tie_word_embeddings", default=True) else 2)
    return (
        h * (tables + k("max_position_embeddings", default=2048)) + k("num_layers", "num_hidden_layers") * block + 2 * h
    )


def gpt_j(k: Keys) -> int:
    h, v = k("n_embd", "hidden_size"), k("vocab_size")
    f = k("n_inner", default=4 * h)
    block = 4 * h * h + _two_matrices(h, f) + 2 * h
    tables = v * h * (1 if k.flag("tie_word_embeddings", default=False) else 2)
    return tables + v + k("n_layer", "num_hidden_layers") * block + 2 * h


def gpt_neox(k: Keys) -> int:
    h, bias = k("hidden_size"), k.flag("attention_bias", default=True)
    block = 4 * h * h + bias * 4 * h + _two_matrices(h, k("intermediate_size")) + 4 * h
    tables = k("vocab_size") * h * (1 if k.flag("tie_word_embeddings", default=False) else 2)
    return tables + k("num_hidden_layers") * block + 2 * h


def opt(k: Keys) -> int:
    h, bias = k("hidden_size"), k.flag("enable_bias", default=True)
    w = k("word_embed_proj_dim", default=h)
    norm = 2 * h if k.flag("layer_norm_elementwise_affine", default=True) else 0
    block = 4 * h * h + bias * 4 * h + _two_matrices(h, k("ffn_dim"), bias) + 2 * norm
    tables = k("vocab_size") * w * (1 if k.flag("tie_word_embeddings", default=True) else 2)
    # Positions begin after two rows for padding.
    positions = (k("max_position_embeddings", default=2048) + 2) * h
    has_final_norm = k.flag("do_layer_norm_before", default=True) and not k.flag(
        "_remove_final_layer_norm", default=False
    )
    projections = 2 * w * h if w != h else 0
    return tables + positions + projections + k("num_hidden_layers") * block + has_final_norm * norm


def bloom(k: Keys) -> int:
    h = k("n_embed", "hidden_size")
    block = 4 * h * h + 4 * h + _two_matrices(h, 4 * h) + 4 * h
    tables = k("vocab_size") * h * (1 if k.flag("tie_word_embeddings", default=True) else 2)
    return tables + 2 * h + k("n_layer", "num_hidden_layers") * block + 2 * h


def falcon(k: Keys) -> int:
    h, a, bias = k("hidden_size", "n_embed"), k("num_attention_heads", "n_head"), k.flag("bias", default=False)
    d, is_parallel = h // a, k.flag("parallel_attn", default=True)
    is_new = k.flag("new_decoder_architecture", default=False)
    f = k("ffn_hidden_size", default=4 * h)
    kv = k("num_kv_heads", "n_head_kv", default=a) if is_new else 1 if k.flag("multi_query", default=True) else a
    norms = k("num_ln_in_parallel_attn", default=2 if is_new else 1) if is_parallel else 2
    qkv = (a + 2 * kv) * d
    block = h * qkv + h * h + bias * (qkv + h) + _two_matrices(h, f, bias) + 2 * h * norms
    tables = k("vocab_size") * h * (1 if k.flag("tie_word_embeddings", default=True) else 2)
    return tables + k("num_hidden_layers", "n_layer") * block + 2 * h


def refined_web(k: Keys) -> int:
    """Falcon before it was in transformers: heads for keys and values mean the newer of two designs.

    The older one has neither halves in parallel nor shared keys by default.
    """
    is_new = k("n_head_kv") is not None
    return falcon(
        Keys(
            {
                **k.data,
                "new_decoder_architecture": is_new,
                "parallel_attn": is_new or k.flag("parallel_attn", default=False),
                "multi_query": k.flag("multi_query", default=False),
                "ffn_hidden_size": None,
            }
        )
    )


FORMULAS = {
    "GPT2LMHeadModel": gpt2,
    "GPTBigCodeForCausalLM": gpt_bigcode,
    "GPTNeoForCausalLM": gpt_neo,
    "GPTJForCausalLM": gpt_j,
    "CodeGenForCausalLM": gpt_j,
    "GPTNeoXForCausalLM": gpt_neox,
    "OPTForCausalLM": opt,
    "BloomForCausalLM": bloom,
    "FalconForCausalLM": falcon,
    "RWForCausalLM": refined_web,
}
