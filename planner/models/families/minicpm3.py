"""MiniCPM 3: a dense decoder with multi-head latent attention."""

from __future__ import annotations

from costmodel.spec import LatentAttention
from planner.models.families.checks import Activation, Rotation
from planner.models.families.experts import kv_heads_divide
from planner.models.families.parts import HEAD_SPLIT, HEADS, HIDDEN, TIED, block, decoder, mlp
from planner.models.family import Family
from planner.models.keys import Flag, part, width

BIAS = Flag("attention_bias", default=False)
ROTARY = width("qk_rope_head_dim", default=32)

FAMILIES = (
    Family(
        "MiniCPM3ForCausalLM",
        "minicpm3",
        decoder(
            block(
                part(
                    LatentAttention,
                    hidden=HIDDEN,
                    num_heads=HEADS,
                    q_lora_rank=width("q_lora_rank", default=768, null=None),
                    kv_lora_rank=width("kv_lora_rank", default=256),
                    qk_nope_head_dim=width("qk_nope_head_dim", default=64),
                    qk_rope_head_dim=ROTARY,
                    v_head_dim=width("v_head_dim", default=HEAD_SPLIT),
                    down_bias=BIAS,
                    output_bias=BIAS,
                ),
                mlp(bias=Flag("mlp_bias", default=False)),
            ),
            tied=TIED,
        ),
        checks=(Rotation(ROTARY), Activation(), kv_heads_divide),
    ),
)
