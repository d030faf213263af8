"""MiniMax-01 and M1, which mix lightning attention into attention (arXiv 2501.08313), and MiniMax-M2."""

from __future__ import annotations

from costmodel.spec import LightningAttention, QkNorm
from costmodel.spec.shown import shown
from planner.models.config import Config
from planner.models.families.checks import Activation, Rotation
from planner.models.families.experts import LOCAL, experts, unread
from planner.models.families.llama import HEAD_DIM_128, KV_HEADS_OF_8
from planner.models.families.parts import FFN, HEAD_DIM, HEADS, HIDDEN, LAYERS, UNTIED, attention, block, decoder
from planner.models.family import Family
from planner.models.keys import Choose, Computed, PerLayer, part, tokens, width

LAYER_TYPES = PerLayer(
    "layer_types",
    LAYERS,
    ("full_attention", "linear_attention"),
    default=Computed(lambda _config, layer: "linear_attention" if layer % 2 else "full_attention"),
)
MIXERS = {
    "full_attention": attention(num_kv_heads=KV_HEADS_OF_8, window=tokens("sliding_window", default=None, null=None)),
    "linear_attention": part(
        LightningAttention,
        hidden=HIDDEN,
        num_heads=HEADS,
        head_dim=HEAD_DIM,
        block_size=tokens("block_size", default=256),
    ),
}


def _first_published(name: str, model_type: str) -> Family:
    """The class beside the checkpoints, whose configs say 0 for a block of linear attention and 1 for another."""
    mixer = Choose(Computed(_attention_of_block), MIXERS)
    return Family(
        name,
        model_type,
        decoder(block(mixer, experts(LOCAL, ffn_hidden=FFN)), tied=UNTIED),
        checks=(Rotation(HEAD_DIM), Activation(), _shares_no_expert),
    )


def _attention_of_block(config: Config, layer: int) -> str:
    entries = config.items("attn_type_list", LAYERS.read(config, layer), config.place(LAYERS.name))
    if entries[layer] not in (0, 1):
        config.fail(f"{config.place('attn_type_list')}[{layer}] is {shown(entries[layer])}, but must be 0 or 1")
    return "full_attention" if entries[layer] else "linear_attention"


def _shares_no_expert(config: Config) -> None:
    if width("shared_intermediate_size", default=0, least=0).read(config, 0):
        config.fail(
            f"{config.place('shared_intermediate_size')} is {shown(config.data['shared_intermediate_size'])}, but "
            "blocks are read without a shared expert; give 0, or the class that has one"
        )


FAMILIES = (
    Family(
        "MiniMaxForCausalLM",
        "minimax",
        decoder(block(Choose(LAYER_TYPES, MIXERS), experts(LOCAL, ffn_hidden=FFN)), tied=UNTIED),
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
    _first_published("MiniMaxText01ForCausalLM", "minimax_text_01"),
    _first_published("MiniMaxM1ForCausalLM", "minimax_m1"),
)
