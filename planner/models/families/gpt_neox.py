"""GPT-NeoX and Pythia: attention and feed-forward network side by side, each behind a LayerNorm of its own."""

from __future__ import annotations

from costmodel.spec import Norm
from planner.models.families.checks import Activation, Rotation
from planner.models.families.parts import HEAD_SPLIT, HEADS, UNTIED, attention, biased, block, decoder, mlp
from planner.models.family import Family
from planner.models.keys import Flag

BIAS = Flag("attention_bias", default=True)

FAMILIES = (
    Family(
        "GPTNeoXForCausalLM",
        "gpt_neox",
        decoder(
            block(
                attention(
                    num_kv_heads=HEADS,
                    head_dim=HEAD_SPLIT,
                    rotates_joint_projection=True,
                    output_bias=BIAS,
                    **biased(BIAS),
                ),
                mlp(gated=False, bias=True, activation=Activation(default="gelu")),
                norm=Norm.LAYER,
                parallel=Flag("use_parallel_residual", default=True),
            ),
            tied=UNTIED,
            norm=Norm.LAYER,
        ),
        checks=(Rotation(HEAD_SPLIT, key="rotary_pct", default=0.25),),
    ),
)
