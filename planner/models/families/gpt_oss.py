"""gpt-oss: a window in every other block, logits that absorb attention, experts with biases (arXiv 2508.10925)."""

from __future__ import annotations

from costmodel.spec import Activation as Kept
from costmodel.spec import Norm
from planner.models.families.checks import Activation, Rotation
from planner.models.families.experts import LOCAL, experts, window
from planner.models.families.llama import KV_HEADS_OF_8, LAYER_TYPES
from planner.models.families.parts import FFN, HEAD_SPLIT, LAYERS, UNTIED, attention, biased, block, decoder
from planner.models.family import Family
from planner.models.keys import Choose, Computed, Flag, PerLayer, width

BIAS = Flag("attention_bias", default=True)
HEAD_DIM_64 = width("head_dim", default=64, null=HEAD_SPLIT)
WINDOW = Choose(
    PerLayer(
        "layer_types",
        LAYERS,
        LAYER_TYPES,
        default=Computed(lambda _config, layer: "full_attention" if layer % 2 else "sliding_attention"),
    ),
    {"full_attention": None, "sliding_attention": window("sliding_window", 128)},
)

FAMILIES = (
    Family(
        "GptOssForCausalLM",
        "gpt_oss",
        decoder(
            block(
                attention(
                    num_kv_heads=KV_HEADS_OF_8,
                    head_dim=HEAD_DIM_64,
                    window=WINDOW,
                    has_sinks=True,
                    output_bias=BIAS,
                    **biased(BIAS),
                ),
                experts(LOCAL, ffn_hidden=FFN, bias=True, router_bias=True, activation=Kept.CLAMPED_SWISH),
                norm=Norm.RMS_GAIN_IN_FP32,
            ),
            tied=UNTIED,
            norm=Norm.RMS_GAIN_IN_FP32,
        ),
        checks=(Rotation(HEAD_DIM_64), Activation()),
    ),
)
