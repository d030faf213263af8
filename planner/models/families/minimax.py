"""MiniMax-01 and M1, which mix lightning attention into attention (arXiv 2501.08313), and MiniMax-M2."""

from __future__ import annotations

from costmodel.spec import LightningAttention, QkNorm
from planner.models.families.checks import Activation, Rotation
from planner.models.families.experts import LOCAL, experts, unread
from planner.models.families.llama import HEAD_DIM_128, KV_HEADS_OF_8
from planner.models.families.parts import FFN, HEAD_DIM, HEADS, HIDDEN, LAYERS, UNTIED, attention, block, decoder
from planner.models.family import Family
from planner.models.keys import Choose, Computed, PerLayer, part, tokens

LAYER_TYPES = PerLayer(
    "layer_types",
    LAYERS,
    ("full_attention", "linear_attention"),
    default=Computed(lambda _config, layer: "linear_attention" if layer % 2 else "full_attention"),
)
MIXER = Choose(
    LAYER_TYPES,
    {
        "full_attention": attention(
            num_kv_heads=KV_HEADS_OF_8, window=tokens("sliding_window", default=None, null=None)
        ),
        "linear_attention": part(
            LightningAttention,
            hidden=HIDDEN,
            num_heads=HEADS,
            head_dim=HEAD_DIM,
            block_size=tokens("block_size", default=256),
        ),
    },
)

FAMILIES = (
    Family(
        "MiniMaxForCausalLM",
        "minimax",
        decoder(block(MIXER, experts(LOCAL, ffn_hidden=FFN)), tied=UNTIED),
        checks=(Rotation(HEAD_DIM), Activation(), unread("attn_type_list")),
    ),
    Family(
        "MiniMaxM2ForCausalLM",
        "minimax_m2",
        decoder(
            block(
                attention(num_kv_heads=KV_HEADS_OF_8, head_dim=HEAD_DIM_128, qk_norm=QkNorm.WIDTH),
                experts(LOCAL, ffn_hidden=FFN),
            ),
            tied=UNTIED,
        ),
        checks=(Rotation(HEAD_DIM_128), Activation()),
    ),
)
