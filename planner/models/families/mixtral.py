"""Decoders whose every block has experts, and little else that is new: Mixtral, Phi-MoE, OLMoE, Granite MoE."""

from __future__ import annotations

from costmodel.spec import Norm, QkNorm
from costmodel.spec.shown import shown
from planner.models.config import Config
from planner.models.families.checks import Activation, Rotation
from planner.models.families.experts import EXPERTS_PER_TOKEN, LOCAL, IfAny, experts
from planner.models.families.llama import ATTENTION_BIAS, KV_HEADS_OF_8
from planner.models.families.parts import (
    FFN,
    HEAD_DIM,
    HEAD_SPLIT,
    UNTIED,
    attention,
    biased,
    block,
    decoder,
    mlp,
)
from planner.models.family import Family
from planner.models.keys import Flag, Size, tokens, width

WINDOW = tokens("sliding_window", default=None, null=None)
BIASES = {"output_bias": ATTENTION_BIAS, **biased(ATTENTION_BIAS)}
GRANITE_EXPERTS = Size("num_local_experts")
GRANITE_SHARED = width("shared_intermediate_size", default=0, least=0)


def _scales_angles(config: Config) -> None:
    """Phi-MoE scales its angles by two numbers of its own wherever they are stretched."""
    for place in ("rope_scaling", "rope_parameters"):
        values = config.data.get(place)
        if not isinstance(values, dict) or values.get("rope_type", values.get("type", "default")) == "default":
            continue
        for key in ("short_mscale", "long_mscale"):
            if type(values.get(key)) not in (int, float):
                config.fail(f"{config.place(place)}.{key} is {shown(values.get(key))}, but must be a number")


def _picks_two(config: Config) -> None:
    """The router of Phi-MoE samples two experts, whatever the config says."""
    given = EXPERTS_PER_TOKEN.read(config, 0)
    if given != 2:
        config.assume(
            f"{config.place(EXPERTS_PER_TOKEN.name)} is {given}, but the router of {config.architecture} picks two."
        )


def _norms_fit(config: Config) -> None:
    """OLMoE normalises queries over the width of the model, so that its heads must add up to it."""
    if HEAD_DIM.read(config, 0) != HEAD_SPLIT.read(config, 0):
        config.fail(
            f"{config.place('head_dim')} is {HEAD_DIM.read(config, 0)}, but {config.architecture} needs "
            f"hidden_size / num_attention_heads = {HEAD_SPLIT.read(config, 0)}"
        )


def _phimoe(name: str) -> Family:
    """Phi-3.5-MoE under the name of transformers, or that of the class beside its checkpoint."""
    return Family(
        name,
        "phimoe",
        decoder(
            block(
                attention(num_kv_heads=KV_HEADS_OF_8, window=WINDOW, **BIASES),
                experts(Size("num_local_experts"), experts_per_token=2, ffn_hidden=FFN),
                norm=Norm.LAYER,
            ),
            tied=UNTIED,
            norm=Norm.LAYER,
            bias=Flag("lm_head_bias", default=False),
        ),
        checks=(Rotation(HEAD_DIM), _scales_angles, _picks_two, Activation()),
    )


FAMILIES = (
    Family(
        "MixtralForCausalLM",
        "mixtral",
        decoder(
            block(attention(num_kv_heads=KV_HEADS_OF_8, window=WINDOW), experts(LOCAL, ffn_hidden=FFN)), tied=UNTIED
        ),
        checks=(Rotation(HEAD_DIM), Activation()),
    ),
    _phimoe("PhimoeForCausalLM"),
    _phimoe("PhiMoEForCausalLM"),
    Family(
        "OlmoeForCausalLM",
        "olmoe",
        decoder(
            block(
                attention(qk_norm=QkNorm.WIDTH, **BIASES),
                experts(Size("num_experts", aliases=("num_local_experts",)), ffn_hidden=FFN),
            ),
            tied=UNTIED,
        ),
        checks=(_norms_fit, Rotation(HEAD_DIM), Activation()),
    ),
    Family(
        "GraniteMoeForCausalLM",
        "granitemoe",
        decoder(block(attention(**BIASES), experts(GRANITE_EXPERTS, ffn_hidden=FFN)), tied=UNTIED),
        checks=(Rotation(HEAD_DIM), Activation()),
    ),
    Family(
        "GraniteMoeSharedForCausalLM",
        "granitemoeshared",
        decoder(
            block(
                attention(**BIASES),
                experts(GRANITE_EXPERTS, ffn_hidden=FFN, shared=IfAny(GRANITE_SHARED, mlp(ffn_hidden=GRANITE_SHARED))),
            ),
            tied=UNTIED,
        ),
        checks=(Rotation(HEAD_DIM), Activation()),
    ),
)
