"""Nemotron models cut out of Llama by architecture search (arXiv 2411.19146), and DeciLM: every block has sizes of its
own, and may have no attention or no feed-forward network.

transformers builds no such class; the shapes are those of the code that is published with the checkpoints.
"""

from __future__ import annotations

from typing import Any

from costmodel.spec import Attention, Mlp
from costmodel.spec.shown import shown
from planner.models.config import Config
from planner.models.families.checks import Activation, Rotation
from planner.models.families.parts import FFN, HEADS, HIDDEN, LAYERS, UNTIED, attention, biased, block, decoder, mlp
from planner.models.family import Family
from planner.models.keys import MAX_COUNT, Computed, Flag, Size, tokens

BLOCKS = "block_configs"
KV_HEADS_PER_LAYER = "num_key_value_heads_per_layer"
MULTIPLE = 256
"""Feed-forward widths are rounded up to a multiple of it."""
MAX_FFN_MULT = 1024
"""Far above any; twice the width of the largest feed-forward network over that of the model."""

BIAS = Flag("attention_bias", default=False)
MLP_BIAS = Flag("mlp_bias", default=False)


def _part(config: Config, layer: int, name: str) -> Config | None:
    """What `block_configs` says of the attention or feed-forward network of one block; None where it has none."""
    entries = config.items(BLOCKS, LAYERS.read(config, layer), config.place(LAYERS.name))
    path = f"{config.place(BLOCKS)}[{layer}]."
    if not isinstance(entries[layer], dict):
        config.fail(f"{path.rstrip('.')} is {shown(entries[layer])}, but must be an object with attention and ffn")
    part = Config(entries[layer], config.where, config.architecture, path).section(name)
    if Flag("no_op", default=False).read(part, layer):
        return None
    if Flag("replace_with_linear", default=False).read(part, layer):
        config.fail(
            f"{part.place('replace_with_linear')} is true, but such blocks are not read; "
            "give the model as module:factory"
        )
    return part


def _kv_heads_per_layer(config: Config, layer: int) -> int:
    """DeciLM's own list, with a number of heads for each block."""
    num_layers = LAYERS.read(config, layer)
    if not config.has(KV_HEADS_PER_LAYER):
        config.fail(
            f"{config.place(BLOCKS)} and {config.place(KV_HEADS_PER_LAYER)} are missing or null; one is needed, to say "
            "how many heads each block has for keys and values"
        )
    entry = config.items(KV_HEADS_PER_LAYER, num_layers, config.place(LAYERS.name))[layer]
    if type(entry) is not int or not 1 <= entry <= MAX_COUNT:
        config.fail(
            f"{config.place(KV_HEADS_PER_LAYER)}[{layer}] is {shown(entry)}, but must be a whole number from 1 to "
            f"{MAX_COUNT}"
        )
    return entry


def _attention(config: Config, layer: int) -> Any:
    """Attention of one block, whose heads share keys and values in groups of a size of its own."""
    window: int | None = None
    if config.has(BLOCKS):
        own = _part(config, layer, "attention")
        if own is None:
            return None
        num_heads, group = HEADS.read(config, layer), Size("n_heads_in_group").read(own, layer)
        if num_heads % group:
            config.fail(
                f"{own.place('n_heads_in_group')} = {group} does not divide {config.place(HEADS.name)} = {num_heads}; "
                "give sizes that divide"
            )
        num_kv_heads, window = num_heads // group, tokens("window_length", default=None).read(own, layer)
    else:
        num_kv_heads = _kv_heads_per_layer(config, layer)
    heads = attention(num_kv_heads=num_kv_heads, window=window, output_bias=BIAS, **biased(BIAS))
    return heads.read(config, layer)


def _feed_forward(config: Config, layer: int) -> Any:
    """Feed-forward network of one block: two thirds of `ffn_mult` times the width of the model, rounded up."""
    if not config.has(BLOCKS):
        return mlp(ffn_hidden=FFN, bias=MLP_BIAS).read(config, layer)
    own = _part(config, layer, "ffn")
    if own is None:
        return None
    factor: Any = own.data.get("ffn_mult")
    if type(factor) not in (int, float) or not 0 < factor <= MAX_FFN_MULT:
        config.fail(
            f"{own.place('ffn_mult')} is {shown(factor)}, but must be a number above 0 and at most {MAX_FFN_MULT}"
        )
    ffn_hidden = max(1, int(2 * factor * HIDDEN.read(config, layer) / 3))
    return mlp(ffn_hidden=-(-ffn_hidden // MULTIPLE) * MULTIPLE, bias=MLP_BIAS).read(config, layer)


def _num_norms(config: Config, layer: int) -> int:
    """One before each part there is."""
    parts: tuple[Attention | Mlp | None, ...] = (_attention(config, layer), _feed_forward(config, layer))
    return sum(part is not None for part in parts)


DECILM = decoder(
    block(Computed(_attention), Computed(_feed_forward), num_norms=Computed(_num_norms)),
    tied=UNTIED,
)
CHECKS = (Rotation(), Activation())

FAMILIES = tuple(
    Family("DeciLMForCausalLM", model_type, DECILM, checks=CHECKS) for model_type in ("nemotron-nas", "deci")
)
