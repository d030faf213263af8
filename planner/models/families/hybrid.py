"""Hybrids of attention and state-space layers, each block with a feed-forward network: Jamba, Bamba, Granite 4, and
Falcon-H1, whose blocks have both on one input."""

from __future__ import annotations

from typing import Any

from costmodel.spec import Mamba, Mamba2, Moe
from costmodel.spec.shown import shown
from planner.models.config import Config
from planner.models.families.checks import Activation, Rotation
from planner.models.families.mamba import auto, heads_fill_width, product, time_step_rank
from planner.models.families.parts import (
    FFN,
    HEADS,
    HIDDEN,
    KV_HEADS,
    LAYERS,
    UNTIED,
    attention,
    biased,
    block,
    decoder,
    mlp,
)
from planner.models.family import Family
from planner.models.keys import Choose, Computed, Flag, PerLayer, Size, Source, Sum, Times, part, width

KV_HEADS_OF_8 = Size("num_key_value_heads", default=8, null=HEADS)
BIAS = Flag("attention_bias", default=False)
MLP_BIAS = Flag("mlp_bias", default=False)
CONV_KERNEL = Size("mamba_d_conv", default=4)
CONV_BIAS = Flag("mamba_conv_bias", default=True)
PROJECTION_BIAS = Flag("mamba_proj_bias", default=False)
EXPAND = Size("mamba_expand", default=2)
SSM_HEADS = Size("mamba_n_heads", default=128)
EXPERTS_PER_TOKEN = Size("num_experts_per_tok")


def _split(width_of_all: Source) -> Computed:
    """Width of a state-space head: what is given, or the heads' share of the whole."""

    def share(config: Config, layer: int) -> int:
        whole, heads = width_of_all.read(config, layer), SSM_HEADS.read(config, layer)
        if whole % heads:
            config.fail(
                f"{config.place(SSM_HEADS.name)} = {heads} does not divide the {whole} channels of the layer; "
                "give a number that does"
            )
        return int(whole // heads)

    return auto(width("mamba_d_head"), Computed(share))


def _mamba2(head_dim: Source, **changes: Any) -> Any:
    return part(
        Mamba2,
        **{
            "hidden": HIDDEN,
            "num_heads": SSM_HEADS,
            "head_dim": head_dim,
            "num_groups": Size("mamba_n_groups", default=1),
            "state_size": Size("mamba_d_state", default=256),
            "conv_kernel": CONV_KERNEL,
            "chunk_size": Size("mamba_chunk_size", default=256),
            "bias": PROJECTION_BIAS,
            "conv_bias": CONV_BIAS,
            **changes,
        },
    )


INNER = product(EXPAND, HIDDEN)
SSM_HEAD_DIM = _split(INNER)
FILLS = heads_fill_width(EXPAND, SSM_HEADS, SSM_HEAD_DIM, "mamba_d_head")
HEADS_WITH_BIAS = {**biased(BIAS), "output_bias": BIAS}


def _periodic(period: Size, offset: Size) -> Computed:
    """Whether a block is one of those that come every `period` blocks, the first of them number `offset`."""

    def holds(config: Config, layer: int) -> bool:
        every, first = period.read(config, layer), offset.read(config, layer)
        if first >= every:
            config.fail(f"{config.place(offset.name)} is {first}, but must be below {period.name}, which is {every}")
        return bool(layer % every == first)

    return Computed(holds)


JAMBA_STATE = Size("mamba_d_state", default=16)
JAMBA_RANK = time_step_rank("mamba_dt_rank")
JAMBA_EXPERTS = Size("num_experts", aliases=("num_local_experts",))
JAMBA_HAS_EXPERTS = Choose(
    _periodic(Size("expert_layer_period", default=2), Size("expert_layer_offset", default=1, least=0)),
    {False: False, True: Computed(lambda config, layer: JAMBA_EXPERTS.read(config, layer) > 1)},
)
JAMBA = block(
    Choose(
        _periodic(Size("attn_layer_period", default=8), Size("attn_layer_offset", default=4, least=0)),
        {
            True: attention(num_kv_heads=KV_HEADS_OF_8),
            False: part(
                Mamba,
                hidden=HIDDEN,
                inner=INNER,
                state_size=JAMBA_STATE,
                time_step_rank=JAMBA_RANK,
                conv_kernel=CONV_KERNEL,
                bias=PROJECTION_BIAS,
                conv_bias=CONV_BIAS,
                # Norms of the time step, B and C.
                other_params=Sum((JAMBA_RANK, Times(2, JAMBA_STATE))),
            ),
        },
    ),
    Choose(
        JAMBA_HAS_EXPERTS,
        {
            True: part(
                Moe,
                hidden=HIDDEN,
                num_experts=JAMBA_EXPERTS,
                experts_per_token=EXPERTS_PER_TOKEN,
                ffn_hidden=FFN,
            ),
            False: mlp(),
        },
    ),
)


def _attends(config: Config, layer: int) -> bool:
    """Whether Bamba's list of the blocks with attention holds `layer`."""
    key, num_layers = "attn_layer_indices", LAYERS.read(config, layer)
    indices = config.data.get(key)
    if indices is None:
        return False
    if not isinstance(indices, list):
        config.fail(f"{config.place(key)} is {shown(indices)}, but must be a list of block numbers")
    for index in indices:
        if type(index) is not int or not 0 <= index < num_layers:
            config.fail(
                f"{config.place(key)} holds {shown(index)}, but the blocks have numbers from 0 to {num_layers - 1} "
                f"({config.place(LAYERS.name)} is {num_layers})"
            )
    return layer in indices


GRANITE_TYPES = ("mamba", "attention", "linear_attention", "full_attention")
GRANITE_TYPE = Choose(
    PerLayer(
        "layer_types", LAYERS, GRANITE_TYPES, default=PerLayer("layers_block_type", LAYERS, GRANITE_TYPES, "mamba")
    ),
    {"mamba": False, "linear_attention": False, "attention": True, "full_attention": True},
)
GRANITE_EXPERTS = Size("num_local_experts", least=0)
GRANITE_DENSE = mlp(ffn_hidden=width("shared_intermediate_size"))
GRANITE = block(
    Choose(
        GRANITE_TYPE,
        {True: attention(num_kv_heads=KV_HEADS, **HEADS_WITH_BIAS), False: _mamba2(SSM_HEAD_DIM)},
    ),
    Choose(
        Computed(lambda config, layer: GRANITE_EXPERTS.read(config, layer) > 0),
        {
            False: GRANITE_DENSE,
            True: part(
                Moe,
                hidden=HIDDEN,
                num_experts=GRANITE_EXPERTS,
                experts_per_token=EXPERTS_PER_TOKEN,
                ffn_hidden=FFN,
                shared=GRANITE_DENSE,
            ),
        },
    ),
)

FALCON_INNER = width("mamba_d_ssm", default=1024, null=INNER)
FALCON_HEAD_DIM = _split(FALCON_INNER)


def _falcon_heads_fill(config: Config) -> None:
    """The state-space heads together have the width that is given for them."""
    heads, head_dim, inner = (key.read(config, 0) for key in (SSM_HEADS, FALCON_HEAD_DIM, FALCON_INNER))
    if heads * head_dim != inner:
        config.fail(
            f"{config.place(SSM_HEADS.name)} = {heads} heads of {head_dim} are not {inner} channels "
            f"({config.place(FALCON_INNER.name)}); give mamba_d_head and widths that agree"
        )


def _rotates_if_asked(config: Config) -> None:
    """Granite 4 has rotary positions only where position_embedding_type says so."""
    if config.data.get("position_embedding_type") == "rope":
        Rotation()(config)


FAMILIES = (
    Family("JambaForCausalLM", "jamba", decoder(JAMBA, tied=UNTIED), checks=(Activation(),)),
    Family(
        "BambaForCausalLM",
        "bamba",
        decoder(
            block(
                Choose(
                    Computed(_attends),
                    {
                        True: attention(num_kv_heads=KV_HEADS_OF_8, **HEADS_WITH_BIAS),
                        False: _mamba2(SSM_HEAD_DIM),
                    },
                ),
                mlp(bias=MLP_BIAS),
            ),
            tied=UNTIED,
        ),
        checks=(FILLS, Rotation(default=0.5), Activation()),
    ),
    Family(
        "GraniteMoeHybridForCausalLM",
        "granitemoehybrid",
        decoder(GRANITE, tied=UNTIED),
        checks=(FILLS, _rotates_if_asked, Activation()),
    ),
    Family(
        "FalconH1ForCausalLM",
        "falcon_h1",
        decoder(
            block(
                _mamba2(
                    FALCON_HEAD_DIM,
                    output_bias=Flag("projectors_bias", default=False),
                    gated_norm=Flag("mamba_rms_norm", default=False),
                ),
                mlp(bias=MLP_BIAS),
                beside=attention(num_kv_heads=KV_HEADS_OF_8, **HEADS_WITH_BIAS),
            ),
            tied=UNTIED,
        ),
        checks=(_falcon_heads_fill, Rotation(), Activation()),
    ),
)
