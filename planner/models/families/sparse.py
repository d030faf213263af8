"""Sparse decoders that differ from others in keys and defaults: dots.llm1, FlexOlmo, Solar Open, ERNIE 4.5, K-EXAONE,
Hunyuan."""

from __future__ import annotations

from costmodel.spec import Norm, QkNorm
from planner.models.config import Config
from planner.models.families.checks import Activation, Rotation
from planner.models.families.encoder_parts import pads_within
from planner.models.families.experts import (
    NUM_PREDICTED,
    ROUTED,
    Prediction,
    dense_first,
    dense_or_sparse,
    experts,
    groups_divide,
    in_range,
    mlp_layer_types,
    shared_experts,
    window,
)
from planner.models.families.llama import ATTENTION_BIAS, HEAD_DIM_128, KV_HEADS_OF_8, KV_HEADS_OF_32, LAYER_TYPES
from planner.models.families.parts import (
    FFN,
    HEAD_DIM,
    HEADS,
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
from planner.models.keys import MAX_LAYERS, Choose, Computed, Flag, PerLayer, Size, layers, tokens, width

BIASES = {"output_bias": ATTENTION_BIAS, **biased(ATTENTION_BIAS)}
NUM_EXPERTS = Size("num_experts")


def _dots_layer_type(config: Config, layer: int) -> str:
    """A window from block max_window_layers on, unless there is none."""
    first = layers("max_window_layers", default=62, least=0).read(config, layer)
    has_window = tokens("sliding_window", default=4096, null=None).read(config, layer) is not None
    return "sliding_attention" if has_window and layer >= first else "full_attention"


DOTS_TYPES = PerLayer("layer_types", LAYERS, LAYER_TYPES, default=Computed(_dots_layer_type))
DOTS_ATTENTION = attention(
    num_kv_heads=KV_HEADS_OF_32,
    qk_norm=QkNorm.HEAD,
    window=Choose(DOTS_TYPES, {"full_attention": None, "sliding_attention": window("sliding_window", 4096)}),
    **BIASES,
)


def _exaone_layer_type(config: Config, layer: int) -> str:
    """The whole sequence in every so many blocks."""
    every = layers("sliding_window_pattern", default=4).read(config, layer)
    return "sliding_attention" if (layer + 1) % every else "full_attention"


EXAONE_TYPES = PerLayer("layer_types", LAYERS, LAYER_TYPES, default=Computed(_exaone_layer_type))
EXAONE_ATTENTION = attention(
    num_kv_heads=KV_HEADS_OF_32,
    qk_norm=QkNorm.HEAD,
    window=Choose(EXAONE_TYPES, {"full_attention": None, "sliding_attention": window("sliding_window", 4096)}),
)
EXAONE_EXPERTS = experts(
    NUM_EXPERTS, router_in_fp32=True, shared=shared_experts(Size("num_shared_experts", default=1, least=0))
)

ERNIE_BIAS = Flag("use_bias", default=False)
ERNIE_NUM_EXPERTS = Size("moe_num_experts", aliases=("num_experts",))


def _ernie_network(config: Config, layer: int) -> str:
    """Experts in every so many of the blocks from one to another; -1 is the last."""
    first = layers("moe_layer_start_index", default=1, least=0).read(config, layer)
    last = Size("moe_layer_end_index", default=-1, least=-1, most=MAX_LAYERS).read(config, layer)
    every = layers("moe_layer_interval", default=1).read(config, layer)
    is_within = first <= layer and (last == -1 or layer <= last)
    return "sparse" if is_within and (layer + 1) % every == 0 else "dense"


# Each expert has a bias for balancing the load, which is a parameter here, not a buffer.
ERNIE_EXPERTS = experts(
    ERNIE_NUM_EXPERTS,
    experts_per_token=Size("moe_k", aliases=("num_experts_per_tok",)),
    router_in_fp32=True,
    shared=shared_experts(Size("moe_num_shared_experts", default=2, least=0), bias=ERNIE_BIAS),
    other_params=ERNIE_NUM_EXPERTS,
)


HUNYUAN_HEAD_DIM = width("head_dim")
HUNYUAN_EXPERTS = Size("num_experts", aliases=("num_local_experts",))


def _hunyuan_experts_per_token(config: Config, layer: int) -> int:
    """One number, or one for each block."""
    source, name = config, "num_experts_per_tok" if config.has("num_experts_per_tok") else "moe_topk"
    if isinstance(config.data.get(name), list):
        entry = config.items(name, LAYERS.read(config, layer), config.place(LAYERS.name))[layer]
        config = Config({name: entry}, config.where, config.architecture, config.place(""))
    count, num_experts = int(Size(name).read(config, layer)), HUNYUAN_EXPERTS.read(source, layer)
    if count > num_experts:
        config.fail(
            f"{config.place(name)} {count} is above {config.place(HUNYUAN_EXPERTS.name)} {num_experts}; give at most "
            "as many"
        )
    return count


FAMILIES = (
    Family(
        "Dots1ForCausalLM",
        "dots1",
        decoder(
            block(
                DOTS_ATTENTION,
                dense_or_sparse(
                    dense_first(layers("first_k_dense_replace", default=0, least=0)),
                    experts(ROUTED, router_in_fp32=True, shared=shared_experts(Size("n_shared_experts", least=0))),
                ),
            ),
            tied=UNTIED,
        ),
        checks=(Rotation(HEAD_DIM), Activation(), groups_divide(ROUTED), in_range(FFN)),
    ),
    Family(
        "FlexOlmoForCausalLM",
        "flex_olmo",
        decoder(
            block(
                attention(qk_norm=QkNorm.WIDTH, qk_norm_kind=Norm.RMS_GAIN_IN_FP32, **BIASES),
                experts(Size("num_experts", aliases=("num_local_experts",)), ffn_hidden=FFN),
                norm=Norm.RMS_GAIN_IN_FP32,
                norms_output=True,
            ),
            tied=UNTIED,
            norm=Norm.RMS_GAIN_IN_FP32,
        ),
        checks=(Rotation(HEAD_DIM), Activation(), pads_within()),
    ),
    Family(
        "SolarOpenForCausalLM",
        "solar_open",
        decoder(
            block(
                attention(num_kv_heads=KV_HEADS_OF_8, head_dim=HEAD_DIM_128, **biased(ATTENTION_BIAS)),
                experts(
                    ROUTED, router_in_fp32=True, shared=shared_experts(Size("n_shared_experts", default=1, least=0))
                ),
            ),
            tied=UNTIED,
        ),
        checks=(Rotation(HEAD_DIM_128), Activation(), groups_divide(ROUTED)),
    ),
    Family(
        "Ernie4_5_MoeForCausalLM",
        "ernie4_5_moe",
        decoder(
            block(
                attention(
                    num_kv_heads=Size("num_key_value_heads", default=4, null=HEADS),
                    output_bias=ERNIE_BIAS,
                    **biased(ERNIE_BIAS),
                ),
                dense_or_sparse(Computed(_ernie_network), ERNIE_EXPERTS, mlp(bias=ERNIE_BIAS)),
            ),
            tied=TIED,
            bias=ERNIE_BIAS,
        ),
        checks=(Rotation(HEAD_DIM), Activation(), in_range(FFN)),
    ),
    Family(
        "ExaoneMoeForCausalLM",
        "exaone_moe",
        decoder(
            block(
                EXAONE_ATTENTION,
                dense_or_sparse(
                    mlp_layer_types(dense_first(layers("first_k_dense_replace", default=1, least=0))), EXAONE_EXPERTS
                ),
            ),
            tied=UNTIED,
        ),
        mtp=(Prediction(block(EXAONE_ATTENTION.but(window=None), EXAONE_EXPERTS), NUM_PREDICTED),),
        checks=(Rotation(HEAD_DIM), Activation(), groups_divide(NUM_EXPERTS), in_range(FFN)),
    ),
    Family(
        "HunYuanMoEV1ForCausalLM",
        "hunyuan_v1_moe",
        decoder(
            block(
                attention(head_dim=HUNYUAN_HEAD_DIM, qk_norm=QkNorm.HEAD, **BIASES),
                experts(
                    HUNYUAN_EXPERTS,
                    experts_per_token=Computed(_hunyuan_experts_per_token),
                    router_in_fp32=True,
                    ffn_hidden=FFN,
                    shared=mlp(),
                ),
            ),
            tied=UNTIED,
        ),
        checks=(Rotation(HUNYUAN_HEAD_DIM), Activation()),
    ),
)
