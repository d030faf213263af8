"""MiMo-V2-Flash: windows in five of six blocks, which have twice the key heads and logits that absorb attention."""

from __future__ import annotations

from costmodel.spec.shown import shown
from planner.models.config import Config
from planner.models.families.checks import Activation, Rotation
from planner.models.families.experts import (
    ROUTED,
    dense_or_sparse,
    experts,
    groups_divide,
    in_range,
    mlp_layer_types,
    unread,
    window,
)
from planner.models.families.llama import ATTENTION_BIAS
from planner.models.families.parts import FFN, LAYERS, UNTIED, attention, biased, block, decoder
from planner.models.family import Family
from planner.models.keys import Choose, Computed, PerLayer, Size, Times, tokens, width

KV_HEADS = Size("num_key_value_heads", default=4)
HEAD_DIM = width("head_dim", default=192)


def _layer_type(_config: Config, layer: int) -> str:
    """The first block and every sixth see the whole sequence."""
    return "full_attention" if layer == 0 or (layer + 1) % 6 == 0 else "sliding_attention"


def _window(config: Config, layer: int) -> int:
    """`sliding_window_size` leaves the query itself out, and goes before `sliding_window`."""
    size = tokens("sliding_window_size", default=None).read(config, layer)
    return int(window("sliding_window", 129).read(config, layer) if size is None else size + 1)


LAYER_TYPES = PerLayer("layer_types", LAYERS, ("full_attention", "sliding_attention"), default=Computed(_layer_type))


def _of(full: object, sliding: object) -> Choose:
    return Choose(LAYER_TYPES, {"full_attention": full, "sliding_attention": sliding})


ATTENTION = attention(
    num_kv_heads=_of(KV_HEADS, Times(2, KV_HEADS)),
    head_dim=HEAD_DIM,
    value_dim=width("v_head_dim", default=128),
    window=_of(None, Computed(_window)),
    has_sinks=_of(False, True),
    **biased(ATTENTION_BIAS),
)


def _tell_unread_lists(config: Config) -> None:
    """The lists of the original config mean what the class builds, unless they differ from it."""
    kinds = (
        ("hybrid_layer_pattern", LAYER_TYPES, "sliding_attention"),
        ("moe_layer_freq", NETWORKS, "sparse"),
    )
    for key, types, one in kinds:
        if config.has(key):
            built = [int(types.read(config, layer) == one) for layer in range(LAYERS.read(config, 0))]
            if config.data[key] != built:
                config.assume(
                    f"{config.place(key)} is {shown(config.data[key])}, but {config.architecture} does not read it: "
                    f"blocks are as {types.name} says, or its default."
                )


NETWORKS = mlp_layer_types(Computed(lambda _config, layer: "sparse" if layer else "dense"))

FAMILIES = (
    Family(
        "MiMoV2FlashForCausalLM",
        "mimo_v2_flash",
        decoder(block(ATTENTION, dense_or_sparse(NETWORKS, experts(ROUTED, router_in_fp32=True))), tied=UNTIED),
        checks=(
            Rotation(HEAD_DIM, default=0.334),
            Activation(),
            groups_divide(ROUTED),
            in_range(FFN),
            unread("n_shared_experts", 0),
            _tell_unread_lists,
        ),
    ),
)
