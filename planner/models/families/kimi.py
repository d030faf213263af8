"""Kimi Linear: Kimi delta attention in most blocks, latent attention without positions in the others."""

from __future__ import annotations

from typing import Any

from costmodel.spec import KimiDeltaAttention
from costmodel.spec.shown import shown
from planner.models.config import Config
from planner.models.families.checks import Activation
from planner.models.families.deepseek import V3_ATTENTION
from planner.models.families.encoder_parts import pads_within
from planner.models.families.experts import (
    NUM_EXPERTS,
    dense_first,
    dense_or_sparse,
    experts,
    groups_divide,
    in_range,
    kv_heads_divide,
    mlp_layer_types,
    shared_experts,
)
from planner.models.families.parts import FFN, HIDDEN, LAYERS, UNTIED, block, decoder
from planner.models.family import Family
from planner.models.keys import Choose, Computed, PerLayer, Size, layers, part, tokens, width

LINEAR = "linear_attn_config"
"""The object that older configs describe the delta attention in; it goes before the keys outside."""


def _linear(name: str, inside: str, default: int) -> Computed:
    outer = width(name, default=default)

    def read(config: Config, layer: int) -> Any:
        if config.has(LINEAR) and config.section(LINEAR).has(inside):
            return width(inside).read(config.section(LINEAR), layer)
        return outer.read(config, layer)

    return Computed(read)


def _listed(config: Config, layer: int) -> str | None:
    """The kind of a block by two lists of blocks, counted from 1; None without them. Each is in one of the two."""
    names = {"full_attn_layers": "full_attention", "kda_layers": "linear_attention"}
    if not config.has(LINEAR) or not all(config.section(LINEAR).has(name) for name in names):
        return None
    section, found, count = config.section(LINEAR), [], LAYERS.read(config, layer)
    for name, kind in names.items():
        entries = section.data[name]
        if not isinstance(entries, list) or len(entries) > count:
            config.fail(
                f"{section.place(name)} is {shown(entries)}, but must be a list of some of {count} blocks, which "
                f"are {config.place(LAYERS.name)}"
            )
        if not all(type(entry) is int and 1 <= entry <= count for entry in entries):
            config.fail(
                f"{section.place(name)} is {shown(entries)}, but blocks are numbered from 1 to "
                f"{count}, which is {config.place(LAYERS.name)}"
            )
        found += [kind] * (layer + 1 in entries)
    if len(found) != 1:
        config.fail(
            f"block {layer + 1} stands in {'both' if found else 'neither'} of {section.place('full_attn_layers')} and "
            f"{section.place('kda_layers')}, but must be in one; {config.place(LAYERS.name)} is {count}"
        )
    return found[0]


def _layer_type(config: Config, layer: int) -> str:
    """By the two lists, else full attention in every fourth block but the first."""
    return _listed(config, layer) or ("full_attention" if layer and layer % 4 == 0 else "linear_attention")


DELTA_ATTENTION = part(
    KimiDeltaAttention,
    hidden=HIDDEN,
    num_heads=_linear("linear_num_heads", "num_heads", 32),
    head_dim=_linear("linear_head_dim", "head_dim", 128),
    conv_kernel=_linear("linear_conv_kernel_dim", "short_conv_kernel_size", 4),
)
FULL_ATTENTION = V3_ATTENTION.but(q_lora_rank=width("q_lora_rank", default=None, null=None))
MIXER = Choose(
    PerLayer("layer_types", LAYERS, ("linear_attention", "full_attention"), default=Computed(_layer_type)),
    {"linear_attention": DELTA_ATTENTION, "full_attention": FULL_ATTENTION},
)
EXPERTS = experts(
    NUM_EXPERTS,
    router_in_fp32=True,
    experts_per_token=Size("num_experts_per_tok", aliases=("num_experts_per_token",)),
    shared=shared_experts(Size("n_shared_experts", default=1, least=0, aliases=("num_shared_experts",))),
)
NUM_GROUPS = Size("num_expert_group", default=None, aliases=("n_group",))
NETWORKS = mlp_layer_types(dense_first(layers("first_k_dense_replace", default=1, least=0)))


def _tell_untied(config: Config) -> None:
    if UNTIED.read(config, 0):
        config.assume(
            f"{config.place(UNTIED.name)} is true, but {config.architecture} has a table for its head all the same."
        )


FAMILIES = (
    Family(
        "KimiLinearForCausalLM",
        "kimi_linear",
        decoder(block(MIXER, dense_or_sparse(NETWORKS, EXPERTS)), tied=False),
        max_seq_len=tokens("model_max_length", default=None, aliases=("max_position_embeddings",)),
        checks=(
            Activation(),
            groups_divide(NUM_EXPERTS, NUM_GROUPS),
            kv_heads_divide,
            in_range(FFN),
            _tell_untied,
            pads_within(),
        ),
    ),
)
