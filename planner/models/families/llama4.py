"""The text model of Llama 4: attention within chunks, experts beside a shared one in some blocks or all.

`LLAMA4_TEXT` are its layers, read from whatever object of a config holds its keys.
"""

from __future__ import annotations

from costmodel.spec.shown import shown
from planner.models.config import Config
from planner.models.families.checks import Activation, Rotation
from planner.models.families.experts import dense_or_sparse, experts, in_range, listed_blocks, window
from planner.models.families.llama import ATTENTION_BIAS, HEAD_DIM_128, KV_HEADS_OF_8
from planner.models.families.parts import FFN, LAYERS, UNTIED, attention, biased, block, decoder, mlp
from planner.models.family import Family
from planner.models.keys import Choose, Computed, PerLayer, Size, layers, tokens, width

DENSE_FFN = width("intermediate_size_mlp")


def _network(config: Config, layer: int) -> str:
    """Experts in every so many blocks, unless a list says in which."""
    if config.has("moe_layers"):
        return "sparse" if layer in listed_blocks(config, "moe_layers") else "dense"
    step = layers("interleave_moe_layer_step", default=1).read(config, layer)
    return "dense" if (layer + 1) % step else "sparse"


def _layer_type(config: Config, layer: int) -> str:
    """Chunks where positions are rotated, which every so many blocks leave out, unless a list says which."""
    chunk = tokens("attention_chunk_size", default=8192, null=None).read(config, layer)
    if config.data.get("no_rope_layers"):
        count = LAYERS.read(config, layer)
        rotated = config.items("no_rope_layers", count, config.place(LAYERS.name))[layer]
        if type(rotated) is not int or rotated not in (0, 1):
            config.fail(f"{config.place('no_rope_layers')}[{layer}] is {shown(rotated)}, but must be 0 or 1")
    else:
        rotated = (layer + 1) % layers("no_rope_layer_interval", default=4).read(config, layer)
    return "chunked_attention" if rotated and chunk is not None else "full_attention"


LAYER_TYPES = PerLayer("layer_types", LAYERS, ("full_attention", "chunked_attention"), default=Computed(_layer_type))
ATTENTION = attention(
    num_kv_heads=KV_HEADS_OF_8,
    head_dim=HEAD_DIM_128,
    output_bias=ATTENTION_BIAS,
    window=Choose(LAYER_TYPES, {"full_attention": None, "chunked_attention": window("attention_chunk_size", 8192)}),
    chunked=Choose(LAYER_TYPES, {"full_attention": False, "chunked_attention": True}),
    **biased(ATTENTION_BIAS),
)
EXPERTS = experts(Size("num_local_experts"), ffn_hidden=FFN, shared=mlp())

LLAMA4_TEXT = decoder(
    block(ATTENTION, dense_or_sparse(Computed(_network), EXPERTS, mlp(ffn_hidden=DENSE_FFN))), tied=UNTIED
)
LLAMA4_CHECKS = (Rotation(HEAD_DIM_128), Activation(), in_range(FFN, DENSE_FFN))
"""Each reads the object that holds the keys of the text."""

FAMILIES = (Family("Llama4ForCausalLM", "llama4_text", LLAMA4_TEXT, checks=LLAMA4_CHECKS),)
