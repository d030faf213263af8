"""Latent attention with many small experts: DeepSeek-V2, V3 (and Kimi K2, which is the same class), V3.2.

DeepSeek-V3.2 picks the keys that a query meets by an index (arXiv 2512.02556); its parts serve GLM-5 too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from costmodel.spec import LatentAttention
from planner.models.config import Config
from planner.models.families.checks import Activation, Rotation
from planner.models.families.experts import (
    NUM_PREDICTED,
    ROUTED,
    ROUTED_OF_ANY_NAME,
    Prediction,
    dense_first,
    dense_or_sparse,
    experts,
    groups_divide,
    in_range,
    kv_heads_divide,
    mlp_layer_types,
    shared_experts,
    unread,
)
from planner.models.families.llama import ATTENTION_BIAS, MLP_BIAS
from planner.models.families.parts import FFN, HEAD_SPLIT, HEADS, HIDDEN, LAYERS, UNTIED, block, decoder, mlp
from planner.models.family import Family
from planner.models.keys import Computed, KindSource, PerLayer, Size, layers, part, width

SHARED = Size("n_shared_experts", default=1, least=0)
INDEXED = ("indexed_attention", "deepseek_sparse_attention")
"""What `layer_types` may call a block whose keys are picked by an index."""


def query_latent(default: int) -> Size:
    """Rank of the latent of queries; null means that they have none."""
    return width("q_lora_rank", default=default, null=None)


def needed_query_latent(default: int) -> Size:
    """The same for a class that cannot do without."""

    def refuse(config: Config, _layer: int) -> None:
        config.fail(
            f"{config.place('q_lora_rank')} is null, but {config.architecture} needs a latent of queries; "
            "give its width"
        )

    return width("q_lora_rank", default=default, null=Computed(refuse))


def latent_attention(q_lora_rank: Size, nope: int = 128, value: int = 128, **changes: Any) -> KindSource:
    """Latent attention; `nope` and `value` are the defaults that a class has for widths of keys and values."""
    return part(
        LatentAttention,
        **{
            "hidden": HIDDEN,
            "num_heads": HEADS,
            "q_lora_rank": q_lora_rank,
            "kv_lora_rank": width("kv_lora_rank", default=512),
            "qk_nope_head_dim": width("qk_nope_head_dim", default=nope),
            "qk_rope_head_dim": width("qk_rope_head_dim", default=64),
            "v_head_dim": width("v_head_dim", default=value),
            "down_bias": ATTENTION_BIAS,
            "output_bias": ATTENTION_BIAS,
            **changes,
        },
    )


def index(heads: Any) -> dict[str, Any]:
    """The index of keys, with `heads` heads."""
    return {
        "index_heads": heads,
        "index_head_dim": Size("index_head_dim", default=128),
        "index_topk": Size("index_topk", default=2048),
    }


def latent_checks(attention: KindSource, num_experts: Size) -> tuple[Callable[[Config], None], ...]:
    """Conditions of the latent `attention` with experts that may be grouped."""

    def head_dims_add_up(config: Config) -> None:
        given = width("qk_head_dim", default=None).read(config, 0)
        read = attention.read(config, 0)
        if given is not None and isinstance(read, LatentAttention) and given != read.qk_head_dim:
            config.fail(
                f"{config.place('qk_head_dim')} is {given}, but {config.place('qk_nope_head_dim')} + "
                f"{config.place('qk_rope_head_dim')} = {read.qk_head_dim}; make them agree"
            )

    rope = attention.fields["qk_rope_head_dim"]
    return (head_dims_add_up, Rotation(rope), Activation(), groups_divide(num_experts), kv_heads_divide, in_range(FFN))


def attend_alike(*known: str) -> Callable[[Config], None]:
    """A check of `layer_types` of a class whose blocks all attend in one way, which has the names `known`."""

    def check(config: Config) -> None:
        types = PerLayer("layer_types", LAYERS, known, default=known[0])
        for layer in range(LAYERS.read(config, 0)):
            types.read(config, layer)

    return check


def _heads_fit(config: Config) -> None:
    """DeepSeek-V2 wants a width that its heads divide, although they are of another width."""
    HEAD_SPLIT.read(config, 0)


V2_ATTENTION = latent_attention(query_latent(1536))
V2_ROUTED = Size("n_routed_experts", aliases=("num_experts",))
V2_EXPERTS = experts(
    V2_ROUTED,
    router_in_fp32=True,
    shared=shared_experts(Size("n_shared_experts", default=2), bias=MLP_BIAS),
)

V3_ATTENTION = latent_attention(query_latent(1536))
V3_EXPERTS = experts(ROUTED, router_in_fp32=True, shared=shared_experts(SHARED))
V3_DENSE_FIRST = dense_first(layers("first_k_dense_replace", default=3, least=0))
V3 = decoder(block(V3_ATTENTION, dense_or_sparse(V3_DENSE_FIRST, V3_EXPERTS)), tied=UNTIED)
V3_MTP = (Prediction(block(V3_ATTENTION, V3_EXPERTS), NUM_PREDICTED),)
V3_CHECKS = (*latent_checks(V3_ATTENTION, ROUTED), unread("moe_layer_freq", 1))

V32_ATTENTION = latent_attention(needed_query_latent(1536), **index(Size("index_n_heads", default=64)))
V32_EXPERTS = experts(ROUTED_OF_ANY_NAME, router_in_fp32=True, shared=shared_experts(SHARED))

FAMILIES = (
    Family(
        "DeepseekV2ForCausalLM",
        "deepseek_v2",
        decoder(
            block(
                V2_ATTENTION,
                dense_or_sparse(
                    dense_first(layers("first_k_dense_replace", default=0, least=0)), V2_EXPERTS, mlp(bias=MLP_BIAS)
                ),
            ),
            tied=UNTIED,
        ),
        checks=(*latent_checks(V2_ATTENTION, V2_ROUTED), _heads_fit, unread("moe_layer_freq", 1)),
    ),
    Family("DeepseekV3ForCausalLM", "deepseek_v3", V3, mtp=V3_MTP, checks=V3_CHECKS),
    Family("DeepseekV3ForCausalLM", "kimi_k2", V3, mtp=V3_MTP, checks=V3_CHECKS),
    Family(
        "DeepseekV32ForCausalLM",
        "deepseek_v32",
        decoder(block(V32_ATTENTION, dense_or_sparse(mlp_layer_types(V3_DENSE_FIRST), V32_EXPERTS)), tied=UNTIED),
        mtp=(Prediction(block(V32_ATTENTION, V32_EXPERTS), NUM_PREDICTED),),
        checks=(*latent_checks(V32_ATTENTION, ROUTED_OF_ANY_NAME), attend_alike(*INDEXED), unread("moe_layer_freq", 1)),
    ),
)
