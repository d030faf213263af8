"""GLM-4 dense and with experts, GLM-4.7-Flash with latent attention, GLM-5 with indexed latent attention."""

from __future__ import annotations

from costmodel.spec import QkNorm
from costmodel.spec.shown import shown
from planner.models.config import Config
from planner.models.families.checks import Activation, Rotation
from planner.models.families.deepseek import (
    INDEXED,
    SHARED,
    attend_alike,
    index,
    latent_attention,
    latent_checks,
    needed_query_latent,
    query_latent,
)
from planner.models.families.encoder_parts import pads_within
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
    mlp_layer_types,
    shared_experts,
    unread,
)
from planner.models.families.llama import ATTENTION_BIAS, HEAD_DIM_128, KV_HEADS_OF_8
from planner.models.families.parts import (
    FFN,
    HEAD_DIM,
    HEADS,
    LAYERS,
    UNTIED,
    attention,
    biased,
    block,
    decoder,
    mlp,
)
from planner.models.family import Family
from planner.models.keys import Choose, Computed, Flag, PerLayer, Size, layers, width

HALF = 0.5
"""Share of a head's dimensions that GLM-4 rotates."""

DENSE_ATTENTION = attention(
    num_kv_heads=Size("num_key_value_heads", default=2, null=HEADS),
    head_dim=HEAD_DIM_128,
    **biased(Flag("attention_bias", default=True)),
)

MOE_ATTENTION = attention(
    num_kv_heads=KV_HEADS_OF_8,
    qk_norm=Choose(Flag("use_qk_norm", default=False), {True: QkNorm.HEAD, False: QkNorm.NONE}),
    **biased(ATTENTION_BIAS),
)
EXPERTS = experts(ROUTED, router_in_fp32=True, shared=shared_experts(SHARED))

LITE_ATTENTION = latent_attention(
    query_latent(768), 192, 256, qk_rope_head_dim=width("qk_rope_head_dim", default=64, aliases=("head_dim",))
)
ONE_DENSE_FIRST = Computed(lambda _config, layer: "sparse" if layer else "dense")


def _indexer(config: Config, layer: int) -> str:
    """Whether the block has an index of its own, or takes the keys that an earlier one picked.

    Every so many blocks there is one, counted from an offset, unless a list or a text of letters says where.
    """
    if config.has("index_topk_pattern"):
        pattern, num_layers = config.data["index_topk_pattern"], LAYERS.read(config, layer)
        if not isinstance(pattern, str | list) or len(pattern) != num_layers:
            config.fail(
                f"{config.place('index_topk_pattern')} is {shown(pattern)}, but must have one entry for each of "
                f"{num_layers} blocks"
            )
        entry = pattern[layer]
        kind = {"F": "full", "S": "shared"}.get(entry) if isinstance(pattern, str) else entry
        if kind not in ("full", "shared"):
            config.fail(
                f"{config.place('index_topk_pattern')}[{layer}] is {shown(entry)}, but must be full or shared "
                "(F or S in a text)"
            )
        return str(kind)
    every = layers("index_topk_freq", default=None, least=0).read(config, layer) or 1
    offset = layers("index_skip_topk_offset", default=None, least=0).read(config, layer)
    return "shared" if max(layer - (2 if offset is None else offset) + 1, 0) % every else "full"


INDEXER_TYPES = PerLayer("indexer_types", LAYERS, ("full", "shared"), default=Computed(_indexer))
INDEX_HEADS = Size("index_n_heads", default=32)


def _first_has_index(config: Config) -> None:
    if INDEXER_TYPES.read(config, 0) != "full":
        config.fail(
            "block 0 takes the keys that an earlier block picked, but there is none; give it an index of its own"
        )


DSA_ATTENTION = latent_attention(
    needed_query_latent(2048),
    192,
    256,
    **index(Choose(INDEXER_TYPES, {"full": INDEX_HEADS, "shared": 0})),
)
DSA_PREDICTING = DSA_ATTENTION.but(index_heads=INDEX_HEADS)
DSA_EXPERTS = experts(ROUTED_OF_ANY_NAME, router_in_fp32=True, shared=shared_experts(SHARED))

FAMILIES = (
    Family(
        "GlmForCausalLM",
        "glm",
        decoder(block(DENSE_ATTENTION, mlp()), tied=UNTIED),
        checks=(Rotation(HEAD_DIM_128, default=HALF), Activation(), pads_within()),
    ),
    Family(
        "Glm4ForCausalLM",
        "glm4",
        decoder(block(DENSE_ATTENTION, mlp(), num_norms=4), tied=UNTIED),
        checks=(Rotation(HEAD_DIM_128, default=HALF), Activation(), pads_within()),
    ),
    Family(
        "Glm4MoeForCausalLM",
        "glm4_moe",
        decoder(
            block(
                MOE_ATTENTION,
                dense_or_sparse(dense_first(layers("first_k_dense_replace", default=1, least=0)), EXPERTS),
            ),
            tied=UNTIED,
        ),
        mtp=(Prediction(block(MOE_ATTENTION, EXPERTS), NUM_PREDICTED),),
        checks=(Rotation(HEAD_DIM, default=HALF), Activation(), groups_divide(ROUTED), in_range(FFN)),
    ),
    Family(
        "Glm4MoeLiteForCausalLM",
        "glm4_moe_lite",
        decoder(block(LITE_ATTENTION, dense_or_sparse(mlp_layer_types(ONE_DENSE_FIRST), EXPERTS)), tied=UNTIED),
        mtp=(Prediction(block(LITE_ATTENTION, EXPERTS), NUM_PREDICTED),),
        checks=(*latent_checks(LITE_ATTENTION, ROUTED), unread("first_k_dense_replace", 1)),
    ),
    Family(
        "GlmMoeDsaForCausalLM",
        "glm_moe_dsa",
        decoder(
            block(
                DSA_ATTENTION,
                dense_or_sparse(
                    mlp_layer_types(dense_first(layers("first_k_dense_replace", default=3, least=0))), DSA_EXPERTS
                ),
            ),
            tied=UNTIED,
        ),
        mtp=(Prediction(block(DSA_PREDICTING, DSA_EXPERTS), NUM_PREDICTED),),
        checks=(
            *latent_checks(DSA_ATTENTION, ROUTED_OF_ANY_NAME),
            _first_has_index,
            attend_alike(*INDEXED),
            unread("moe_layer_freq", 1),
        ),
    ),
)
