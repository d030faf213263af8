"""Qwen with experts, and the Qwen generations that mix gated delta nets into attention: 2 and 3 MoE, 3-Next, 3.5.

`..._TEXT` are the layers of a whole language model, read from whatever object of a config holds its keys; without
their last, the head, they are the text tower of a model that sees.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from costmodel.spec import GatedDeltaNet, Norm, QkNorm
from planner.models.config import Config
from planner.models.families.checks import Activation, Rotation
from planner.models.families.experts import (
    NUM_EXPERTS,
    Prediction,
    dense_or_sparse,
    experts,
    in_range,
    listed_blocks,
    unread,
    window,
)
from planner.models.families.llama import ATTENTION_BIAS, LAYER_TYPES
from planner.models.families.parts import (
    FFN,
    HEAD_DIM,
    HEADS,
    HIDDEN,
    LAYERS,
    TIED,
    UNTIED,
    attention,
    biased,
    block,
    decoder,
    mlp,
)
from planner.models.family import Family
from planner.models.keys import (
    MAX_LAYERS,
    Choose,
    Computed,
    Flag,
    KindSource,
    PerLayer,
    Size,
    layers,
    part,
    tokens,
    width,
)

ONLY_NUM_EXPERTS = Size("num_experts")
"""Of classes that know no other name for it."""
SHARED_FFN = width("shared_expert_intermediate_size")
BIASES = {"output_bias": ATTENTION_BIAS, **biased(ATTENTION_BIAS)}


def _kv_heads(default: int) -> Size:
    return Size("num_key_value_heads", default=default, null=HEADS)


def _network(num_experts: Size) -> Computed:
    """Experts in every block, or every few, or where a list does not except it; nowhere if there are none."""
    any_experts = Size(num_experts.name, aliases=num_experts.aliases, least=0)
    step = layers("decoder_sparse_step", default=1)

    def which(config: Config, layer: int) -> str:
        if config.has("mlp_only_layers") and layer in listed_blocks(config, "mlp_only_layers"):
            return "dense"
        has_experts = any_experts.read(config, layer) > 0 and (layer + 1) % step.read(config, layer) == 0
        return "sparse" if has_experts else "dense"

    return Computed(which)


def _switched_window(config: Config, layer: int) -> int | None:
    """The window, which counts only where it is switched on."""
    if not Flag("use_sliding_window", default=False).read(config, layer):
        return None
    length: int | None = tokens("sliding_window", default=4096, null=None).read(config, layer)
    return length


def _qwen2_window(config: Config, layer: int) -> int:
    if not Flag("use_sliding_window", default=False).read(config, layer):
        config.fail(
            f"{config.place('layer_types')}[{layer}] is 'sliding_attention', but use_sliding_window is not true; "
            "make them agree"
        )
    return int(window("sliding_window", 4096).read(config, layer))


def _qwen2_layer_type(config: Config, layer: int) -> str:
    """Every other one of the first max_window_layers blocks has a window, once windows are switched on."""
    first_blocks = layer < Size("max_window_layers", default=28, least=0).read(config, layer)
    switched_on = Flag("use_sliding_window", default=False).read(config, layer)
    return "sliding_attention" if layer % 2 == 0 and first_blocks and switched_on else "full_attention"


def _next_layer_type(config: Config, layer: int) -> str:
    interval = layers("full_attention_interval", default=4).read(config, layer)
    return "linear_attention" if (layer + 1) % interval else "full_attention"


def _shared() -> KindSource:
    """Routed experts beside one that all tokens meet, weighed by a gate."""
    return experts(ONLY_NUM_EXPERTS, shared=mlp(ffn_hidden=SHARED_FFN), shared_gate=True)


QWEN2_WINDOW = Choose(
    PerLayer("layer_types", LAYERS, LAYER_TYPES, default=Computed(_qwen2_layer_type)),
    {"full_attention": None, "sliding_attention": Computed(_qwen2_window)},
)

QWEN3_MOE_TEXT = decoder(
    block(
        attention(num_kv_heads=_kv_heads(4), qk_norm=QkNorm.HEAD, window=Computed(_switched_window), **BIASES),
        dense_or_sparse(_network(NUM_EXPERTS), experts(NUM_EXPERTS)),
    ),
    tied=UNTIED,
)
QWEN3_VL_MOE_TEXT = decoder(
    block(
        attention(num_kv_heads=_kv_heads(16), qk_norm=QkNorm.HEAD, **BIASES),
        dense_or_sparse(_network(NUM_EXPERTS), experts(NUM_EXPERTS)),
    ),
    tied=TIED,
)

NEXT_HEAD_DIM = width("head_dim", default=256)
DELTA_NET = part(
    GatedDeltaNet,
    hidden=HIDDEN,
    num_key_heads=Size("linear_num_key_heads", default=16),
    num_value_heads=Size("linear_num_value_heads", default=32),
    key_dim=width("linear_key_head_dim", default=128),
    value_dim=width("linear_value_head_dim", default=128),
    conv_kernel=Size("linear_conv_kernel_dim", default=4),
)


NEXT_NORM = Norm.RMS_GAIN_IN_FP32


def _gated_attention(kv_heads: int) -> KindSource:
    return attention(
        num_kv_heads=_kv_heads(kv_heads),
        head_dim=NEXT_HEAD_DIM,
        qk_norm=QkNorm.HEAD,
        qk_norm_kind=NEXT_NORM,
        output_gate=True,
        **BIASES,
    )


def _hybrid(kv_heads: int) -> Choose:
    """Gated delta nets, with attention in every fourth block."""
    return Choose(
        PerLayer("layer_types", LAYERS, ("linear_attention", "full_attention"), default=Computed(_next_layer_type)),
        {"linear_attention": DELTA_NET, "full_attention": _gated_attention(kv_heads)},
    )


def _prediction(kv_heads: int, network: Any) -> Prediction:
    """Modules of multi-token prediction, whose block has attention."""
    count = Size("mtp_num_hidden_layers", default=None, least=0, most=MAX_LAYERS)
    return Prediction(block(_gated_attention(kv_heads), network, norm=NEXT_NORM), count)


QWEN3_NEXT_TEXT = decoder(
    block(_hybrid(2), dense_or_sparse(_network(ONLY_NUM_EXPERTS), _shared()), norm=NEXT_NORM),
    tied=UNTIED,
    norm=NEXT_NORM,
)
QWEN3_5_TEXT = decoder(block(_hybrid(4), mlp(), norm=NEXT_NORM), tied=UNTIED, norm=NEXT_NORM)
QWEN3_5_MTP = (_prediction(4, mlp()),)
QWEN3_5_MOE_TEXT = decoder(block(_hybrid(2), _shared(), norm=NEXT_NORM), tied=UNTIED, norm=NEXT_NORM)
QWEN3_5_MOE_MTP = (_prediction(2, _shared()),)

TEXT_CHECKS: tuple[Callable[[Config], None], ...] = (Rotation(HEAD_DIM), Activation(), in_range(FFN))
HYBRID_CHECKS: tuple[Callable[[Config], None], ...] = (
    Rotation(NEXT_HEAD_DIM, default=0.25),
    Activation(),
    in_range(FFN),
)
"""Of attention and of gated delta nets; each reads the object that holds the keys of the text."""

FAMILIES = (
    Family(
        "Qwen2MoeForCausalLM",
        "qwen2_moe",
        decoder(
            block(
                attention(num_kv_heads=_kv_heads(16), window=QWEN2_WINDOW, **biased(Flag("qkv_bias", default=True))),
                dense_or_sparse(_network(ONLY_NUM_EXPERTS), _shared()),
            ),
            tied=UNTIED,
        ),
        checks=TEXT_CHECKS,
    ),
    Family("Qwen3MoeForCausalLM", "qwen3_moe", QWEN3_MOE_TEXT, checks=TEXT_CHECKS),
    Family("Qwen3NextForCausalLM", "qwen3_next", QWEN3_NEXT_TEXT, checks=HYBRID_CHECKS),
    Family("Qwen3_5ForCausalLM", "qwen3_5_text", QWEN3_5_TEXT, mtp=QWEN3_5_MTP, checks=HYBRID_CHECKS),
    Family(
        "Qwen3_5MoeForCausalLM",
        "qwen3_5_moe_text",
        QWEN3_5_MOE_TEXT,
        mtp=QWEN3_5_MOE_MTP,
        checks=(*HYBRID_CHECKS, unread("mlp_only_layers", [])),
    ),
)
