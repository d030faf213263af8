"""StarCoder2: grouped-query attention with biases throughout, LayerNorm and a plain feed-forward network."""

from __future__ import annotations

from costmodel.spec import Norm
from planner.models.families.checks import Activation, Rotation
from planner.models.families.parts import HEADS, TIED, attention, biased, block, decoder, mlp
from planner.models.family import Family
from planner.models.keys import Flag, Size, tokens

BIAS = Flag("use_bias", default=True)

FAMILIES = (
    Family(
        "Starcoder2ForCausalLM",
        "starcoder2",
        decoder(
            block(
                attention(
                    num_kv_heads=Size("num_key_value_heads", default=2, null=HEADS),
                    output_bias=BIAS,
                    window=tokens("sliding_window", default=None),
                    **biased(BIAS),
                ),
                mlp(gated=False, bias=BIAS),
                norm=Norm.LAYER,
            ),
            tied=TIED,
            norm=Norm.LAYER,
        ),
        checks=(Rotation(), Activation(default="gelu_pytorch_tanh")),
    ),
)
