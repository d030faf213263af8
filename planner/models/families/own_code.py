"""Decoders whose class stands beside their checkpoints, of which transformers has none or one under another name.

Shapes are those of the published modeling files (`modeling_internlm2.py`, `modeling_baichuan.py`, ...), whose code is
never run.
"""

from __future__ import annotations

from typing import Any

from costmodel.spec import Norm
from costmodel.spec.shown import shown
from planner.models.config import Config
from planner.models.families.checks import Activation, Rotation
from planner.models.families.experts import (
    NUM_EXPERTS,
    NUM_PREDICTED,
    Prediction,
    dense_or_sparse,
    experts,
    shared_experts,
)
from planner.models.families.llama import QWEN_WINDOW
from planner.models.families.parts import (
    FFN,
    HEADS,
    TIED,
    UNTIED,
    attention,
    biased,
    block,
    decoder,
    mlp,
)
from planner.models.family import Family
from planner.models.keys import Computed, Flag, KindSource, Size, Source, layers, tokens, width

LLAMA_LIKE = (Rotation(), Activation())
BIAS_UNLESS_OFF = Flag("bias", default=True)
LENGTH = tokens("max_position_embeddings", default=None, aliases=("max_sequence_length",))


def _heads(bias: Any = False, output_bias: Any = False, **changes: Any) -> KindSource:
    return attention(**{**biased(bias), "output_bias": output_bias, **changes})


def _llama(name: str, model_type: str, mixer: KindSource, *, tied: Source = UNTIED, norm: Norm = Norm.RMS) -> Family:
    """A decoder that is Llama but for its attention, its norms, or whether it ties its tables."""
    blocks = block(mixer, mlp(), norm=norm)
    return Family(name, model_type, decoder(blocks, tied=tied, norm=norm), max_seq_len=LENGTH, checks=LLAMA_LIKE)


# Baichuan: the models of 13B have ALiBi in place of a rotation, and no number of positions.

BAICHUAN_LENGTH = tokens("max_position_embeddings", default=None, aliases=("model_max_length",))


def _has_linear_biases(config: Config, _: int) -> bool:
    """Whether this is a model of 13B, which no key says."""
    if config.has("max_position_embeddings"):
        return False
    config.assume(
        f"{config.place('max_position_embeddings')} is not given, as in Baichuan's models of 13B, so positions are "
        "taken to be linear biases of the scores (ALiBi)."
    )
    return True


BAICHUAN_ATTENTION = attention(num_kv_heads=HEADS, linear_biases=Computed(_has_linear_biases))


def _baichuan(name: str) -> Family:
    blocks = block(BAICHUAN_ATTENTION, mlp())
    checks = (Activation(),)
    return Family(name, "baichuan", decoder(blocks, tied=UNTIED), max_seq_len=BAICHUAN_LENGTH, checks=checks)


# Qwen 1

QWEN_HEAD_DIM = width("kv_channels", default=128)


def _half_ffn(config: Config, layer: int) -> int:
    both = FFN.read(config, layer)
    if both % 2:
        config.fail(f"{config.place(FFN.name)} is {both}, but must be even: it counts both halves of the gated network")
    return int(both // 2)


def _has_no_bias(config: Config) -> None:
    if not Flag("no_bias", default=True).read(config, 0):
        config.fail(
            f"{config.place('no_bias')} is false, but {config.architecture} is read without biases only; "
            "give true, or the class that has them"
        )


QWEN = block(attention(num_kv_heads=HEADS, head_dim=QWEN_HEAD_DIM, **biased(True)), mlp(ffn_hidden=Computed(_half_ffn)))

# DeepSeek before V2, and Ling

FIRST_DENSE = layers("first_k_dense_replace", default=0, least=0)
EVERY = layers("moe_layer_freq", default=1)


def _dense_or_sparse(config: Config, layer: int) -> str:
    """Experts in every so many blocks behind the dense first ones."""
    first, every = FIRST_DENSE.read(config, layer), EVERY.read(config, layer)
    return "sparse" if layer >= first and layer % every == 0 else "dense"


NETWORKS = Computed(_dense_or_sparse)
DEEPSEEK_EXPERTS = experts(
    Size("n_routed_experts"), shared=shared_experts(Size("n_shared_experts", default=0, least=0))
)
LING_EXPERTS = experts(NUM_EXPERTS, shared=shared_experts(Size("num_shared_experts", default=0, least=0)))
LING_BIAS = Flag("use_bias", default=False)
LING_QKV_BIAS = Flag("use_qkv_bias", default=False)
ATTENTION_BIAS = Flag("attention_bias", default=False)


def _norm_of_queries_is_off(config: Config) -> None:
    if config.data.get("use_qk_norm"):
        config.fail(
            f"{config.place('use_qk_norm')} is {shown(True)}, but {config.architecture} has no such norm; "
            "give false, or the class that has it"
        )


# MiMo

MIMO_BLOCK = block(_heads(True, window=QWEN_WINDOW), mlp())

FAMILIES = (
    # The name before LlamaForCausalLM, in the first conversions.
    _llama("LLaMAForCausalLM", "llama", _heads()),
    _llama("YiForCausalLM", "Yi", _heads()),
    _llama("AquilaForCausalLM", "aquila", _heads()),
    _llama("XverseForCausalLM", "xverse", _heads()),
    _llama("InternLMForCausalLM", "internlm", _heads(BIAS_UNLESS_OFF, BIAS_UNLESS_OFF, num_kv_heads=HEADS)),
    _llama("InternLM2ForCausalLM", "internlm2", _heads(BIAS_UNLESS_OFF, BIAS_UNLESS_OFF)),
    _llama("MiniCPMForCausalLM", "minicpm", _heads(ATTENTION_BIAS, ATTENTION_BIAS), tied=TIED),
    _llama("OrionForCausalLM", "orion", _heads(ATTENTION_BIAS, ATTENTION_BIAS), norm=Norm.LAYER),
    _baichuan("BaichuanForCausalLM"),
    _baichuan("BaiChuanForCausalLM"),
    Family(
        "QWenLMHeadModel",
        "qwen",
        decoder(QWEN, tied=UNTIED),
        checks=(_has_no_bias, Rotation(QWEN_HEAD_DIM, "rotary_pct")),
    ),
    Family(
        "DeepseekForCausalLM",
        "deepseek",
        decoder(
            block(_heads(ATTENTION_BIAS, ATTENTION_BIAS), dense_or_sparse(NETWORKS, DEEPSEEK_EXPERTS)), tied=UNTIED
        ),
        checks=LLAMA_LIKE,
    ),
    Family(
        "BailingMoeForCausalLM",
        "bailing_moe",
        decoder(block(_heads(LING_QKV_BIAS, LING_BIAS), dense_or_sparse(NETWORKS, LING_EXPERTS)), tied=UNTIED),
        checks=(*LLAMA_LIKE, _norm_of_queries_is_off),
    ),
    Family(
        "MiMoForCausalLM",
        "mimo",
        decoder(MIMO_BLOCK, tied=UNTIED),
        mtp=(Prediction(MIMO_BLOCK, NUM_PREDICTED),),
        checks=LLAMA_LIKE,
    ),
)
