"""Decoders that differ from Llama in a norm, an activation, a bias or the defaults of their keys."""

from __future__ import annotations

from typing import Any

from costmodel.spec import Activation as Kept
from costmodel.spec import Norm, QkNorm
from planner.models.config import Config
from planner.models.families.checks import PARAMETER_FREE, WRITTEN_OUT, Activation, Rotation, heads_divide
from planner.models.families.parts import (
    FFN,
    HEAD_SPLIT,
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
from planner.models.keys import Choose, Computed, Flag, KindSource, Size, Word, layers, width

BIAS = Flag("attention_bias", default=False)
MLP_BIAS = Flag("mlp_bias", default=False)
HEAD_DIM_128 = width("head_dim", default=128, null=HEAD_SPLIT)
LLAMA_LIKE = (Rotation(), Activation())


def heads(bias: Any = BIAS, **changes: Any) -> KindSource:
    """Attention whose biases are all switched by one key."""
    return attention(**{**biased(bias), "output_bias": bias, **changes})


def kv_heads(default: int) -> Size:
    """Key and value heads, of which the class has a number of its own where none is given."""
    return Size("num_key_value_heads", default=default, null=HEADS)


# Of StableLM

STABLE_PARALLEL = Flag("use_parallel_residual", default=False)
STABLE_BIAS = Flag("use_qkv_bias", default=False)
STABLE_NORMS = Flag("qk_layernorm", default=False)


def _stablelm(name: str, model_type: str, rotated: str) -> Family:
    """StableLM, which rotates the share of each head that the key `rotated` gives."""
    return Family(
        name,
        model_type,
        decoder(
            block(
                attention(
                    num_kv_heads=kv_heads(32),
                    head_dim=HEAD_SPLIT,
                    qk_norm=Choose(STABLE_NORMS, {True: QkNorm.EVERY_HEAD, False: QkNorm.NONE}),
                    qk_norm_kind=Norm.LAYER_WITHOUT_BIAS,
                    **biased(STABLE_BIAS),
                ),
                mlp(),
                norm=Norm.LAYER,
                num_norms=Choose(STABLE_PARALLEL, {True: 1, False: 2}),
                parallel=STABLE_PARALLEL,
            ),
            tied=UNTIED,
            norm=Norm.LAYER,
        ),
        checks=(Rotation(HEAD_SPLIT, rotated, default=0.25), Activation()),
    )


# Of Apertus

XIELU = "xielu"
"""An activation with two parameters of its own (arXiv 2411.13010)."""
APERTUS_ACTIVATION = Word("hidden_act", default=XIELU, null=XIELU, known=(*PARAMETER_FREE, XIELU))


def _kept_by_activation(config: Config, layer: int) -> Kept:
    word = APERTUS_ACTIVATION.read(config, layer)
    return Kept.XIELU if word == XIELU else WRITTEN_OUT.get(word, Kept.KERNEL)


def _activation_params(config: Config, layer: int) -> int:
    """What the activation of Apertus learns."""
    return 2 if APERTUS_ACTIVATION.read(config, layer) == XIELU else 0


# Of InternLM3 and Exaone 3, whose classes transformers builds as Llama

INTERN_QKV_BIAS = Flag("qkv_bias", default=False, aliases=("attention_bias",))
INTERN_BIAS = Flag("bias", default=False, aliases=("mlp_bias",))
EXAONE_LAYERS = layers("num_hidden_layers", aliases=("num_layers",))

FAMILIES = (
    _stablelm("StableLmForCausalLM", "stablelm", "partial_rotary_factor"),
    # The class beside the first checkpoints.
    _stablelm("StableLMEpochForCausalLM", "stablelm_epoch", "rope_pct"),
    Family(
        "GraniteForCausalLM", "granite", decoder(block(heads(), mlp(bias=MLP_BIAS)), tied=UNTIED), checks=LLAMA_LIKE
    ),
    Family(
        "NemotronForCausalLM",
        "nemotron",
        decoder(block(heads(), mlp(gated=False, bias=MLP_BIAS), norm=Norm.LAYER), tied=UNTIED, norm=Norm.LAYER),
        checks=(Rotation(default=0.5), Activation(default="relu2")),
    ),
    Family(
        "SeedOssForCausalLM",
        "seed_oss",
        decoder(
            block(
                attention(
                    num_kv_heads=kv_heads(8),
                    head_dim=HEAD_DIM_128,
                    output_bias=Flag("attention_out_bias", default=False),
                    **biased(Flag("attention_bias", default=True)),
                ),
                mlp(bias=MLP_BIAS),
            ),
            tied=UNTIED,
        ),
        checks=(Rotation(HEAD_DIM_128), Activation()),
    ),
    Family(
        "HunYuanDenseV1ForCausalLM",
        "hunyuan_v1_dense",
        decoder(block(heads(qk_norm=QkNorm.HEAD), mlp()), tied=UNTIED),
        checks=LLAMA_LIKE,
    ),
    Family(
        "Ernie4_5ForCausalLM",
        "ernie4_5",
        decoder(
            block(
                heads(Flag("use_bias", default=False), num_kv_heads=kv_heads(2), head_dim=HEAD_DIM_128),
                mlp(bias=Flag("use_bias", default=False)),
            ),
            tied=TIED,
        ),
        checks=(Rotation(HEAD_DIM_128), Activation()),
    ),
    Family(
        "ApertusForCausalLM",
        "apertus",
        decoder(
            block(
                heads(qk_norm=QkNorm.HEAD),
                mlp(ffn_hidden=FFN, gated=False, activation=Computed(_kept_by_activation)),
                other_params=Computed(_activation_params),
            ),
            tied=UNTIED,
        ),
        checks=(Rotation(),),
    ),
    Family(
        "ArceeForCausalLM",
        "arcee",
        decoder(block(heads(), mlp(gated=False, bias=MLP_BIAS)), tied=UNTIED),
        checks=(heads_divide, Rotation(), Activation(default="relu2")),
    ),
    Family(
        "HyperCLOVAXForCausalLM",
        "hyperclovax",
        decoder(
            block(
                heads(),
                mlp(bias=MLP_BIAS),
                num_norms=Choose(Flag("use_post_norm", default=True), {True: 4, False: 2}),
            ),
            tied=UNTIED,
        ),
        checks=LLAMA_LIKE,
    ),
    Family(
        "Jais2ForCausalLM",
        "jais2",
        decoder(
            block(
                heads(Flag("attention_bias", default=True)),
                mlp(gated=False, bias=Flag("mlp_bias", default=True)),
                norm=Norm.LAYER,
            ),
            tied=UNTIED,
            norm=Norm.LAYER,
        ),
        checks=(Rotation(), Activation(default="relu2")),
    ),
    Family(
        "InternLM3ForCausalLM",
        "internlm3",
        decoder(
            block(
                attention(
                    num_kv_heads=kv_heads(2),
                    head_dim=HEAD_DIM_128,
                    output_bias=INTERN_BIAS,
                    **biased(INTERN_QKV_BIAS),
                ),
                mlp(bias=INTERN_BIAS),
            ),
            tied=UNTIED,
        ),
        checks=(Rotation(HEAD_DIM_128), Activation()),
    ),
    Family(
        "ExaoneForCausalLM",
        "exaone",
        decoder(block(heads(num_kv_heads=kv_heads(8)), mlp(bias=MLP_BIAS)), tied=UNTIED, count=EXAONE_LAYERS),
        checks=(Rotation(), Activation("activation_function")),
    ),
)
