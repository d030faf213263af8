"""Gemma 4: wider heads in the blocks that see everything, keys that are values, shared keys, experts beside the MLP.

The layers of its text model also stand inside a multimodal config, so they are a tuple of their own.
"""

from __future__ import annotations

from typing import Any

from costmodel.spec import Embedding, Moe, Part, QkNorm
from costmodel.spec.shown import shown
from planner.models.config import Config
from planner.models.families.checks import LAYER_TYPES, Activation, Rotation
from planner.models.families.gemma import BIAS, GELU, HEAD_DIM, KV_HEADS_OF_4, NORM
from planner.models.families.parts import (
    FFN,
    HEADS,
    HIDDEN,
    LAYERS,
    TIED,
    VOCAB,
    attention,
    biased,
    block,
    decoder,
    mlp,
)
from planner.models.family import Family, One
from planner.models.keys import (
    MAX_LAYERS,
    Choose,
    Computed,
    Flag,
    PerLayer,
    Size,
    Sum,
    Times,
    Word,
    part,
    tokens,
    vocabulary,
    width,
)

SHARED = Size("num_kv_shared_layers", default=0, least=0, most=MAX_LAYERS)
"""How many of the last blocks take keys and values from an earlier one."""
BOTH_WAYS = Word("use_bidirectional_attention", default="vision", known=("all", "vision"))
"""Whether all tokens see the ones that follow, or at most those of an image."""
KEY_IS_VALUE = Flag("attention_k_eq_v", default=False)
WITH_EXPERTS = Flag("enable_moe_block", default=False)
DOUBLE_WIDE = Flag("use_double_wide_mlp", default=False)

GLOBAL_HEAD_DIM = width("global_head_dim", default=512)
GLOBAL_KV_HEADS = Size("num_global_key_value_heads", default=KV_HEADS_OF_4)
LAYER_INPUT = width("hidden_size_per_layer_input", default=256, least=0)
NUM_EXPERTS = Size("num_experts")
OVERRIDES = "per_layer_config"
"""Sizes of single blocks by number, as transformers writes them; they then replace the global ones above, also where
they are null and so replace them by nothing."""
OVERRIDDEN = ("head_dim", "num_key_value_heads")


def _layer_type(config: Config, layer: int) -> str:
    """Five blocks with windows, one without; the last one never has one, whatever layer_types says."""
    default = "sliding_attention" if (layer + 1) % 6 else "full_attention"
    kind = PerLayer("layer_types", LAYERS, LAYER_TYPES, default=default).read(config, layer)
    return "full_attention" if layer == LAYERS.read(config, layer) - 1 else kind


def _is_global(config: Config, layer: int) -> bool:
    return _layer_type(config, layer) == "full_attention"


def _shares(config: Config, layer: int) -> bool:
    """Whether the block takes keys and values from an earlier one."""
    return bool(layer >= LAYERS.read(config, layer) - SHARED.read(config, layer))


def _own(config: Config, layer: int, size: Size) -> Any:
    """What `per_layer_config` says of the block, else the size that all blocks have."""
    section = config.section(OVERRIDES, default={})
    names = {name.lstrip("0") or "0": name for name in section.data}
    name = names.get(str(layer))
    if name is None or not section.section(name).has(size.name):
        return size.read(config, layer)
    return size.read(section.section(name), layer)


def _head_dim(config: Config, layer: int) -> Any:
    if OVERRIDES in config.data:
        return _own(config, layer, HEAD_DIM)
    return (GLOBAL_HEAD_DIM if _is_global(config, layer) else HEAD_DIM).read(config, layer)


def _kv_heads(config: Config, layer: int) -> Any:
    # Without shared keys and values, the global number of heads is not used.
    is_other = KEY_IS_VALUE.read(config, layer) and _is_global(config, layer) and OVERRIDES not in config.data
    size = GLOBAL_KV_HEADS if is_other else KV_HEADS_OF_4
    num_kv_heads = _own(config, layer, size) if OVERRIDES in config.data else size.read(config, layer)
    num_heads = HEADS.read(config, layer)
    if num_heads % num_kv_heads:
        config.fail(
            f"{config.place(HEADS.name)} is {num_heads}, but must be a multiple of "
            f"{config.place(size.name)} = {num_kv_heads} (block {layer})"
        )
    return num_kv_heads


def _window(config: Config, layer: int) -> int | None:
    """A window that reaches both ways is half as long on each side."""
    window = int(tokens("sliding_window", default=512).read(config, layer))
    if _is_global(config, layer):
        return None
    return window // 2 + 1 if BOTH_WAYS.read(config, layer) == "all" else window


def _knows_overrides(config: Config) -> None:
    """`per_layer_config` names blocks that there are and sizes that are read, equal in all blocks of a sort."""
    if not config.has(OVERRIDES):
        return
    section, known = config.section(OVERRIDES), {str(layer) for layer in range(LAYERS.read(config, 0))}
    for name in section.data:
        if (name.lstrip("0") or "0") not in known:
            config.fail(f"{config.place(OVERRIDES)} has an entry {shown(name)}, but there are {len(known)} blocks")
        for key in section.section(name).data:
            if key not in OVERRIDDEN:
                config.fail(f"{section.place(name)}.{key} is not known; {' and '.join(OVERRIDDEN)} are")
    for kind in LAYER_TYPES:
        layers = [layer for layer in range(len(known)) if _layer_type(config, layer) == kind]
        if len({(_head_dim(config, layer), _kv_heads(config, layer)) for layer in layers}) > 1:
            config.fail(f"{config.place(OVERRIDES)} gives blocks of {kind} different sizes; they must be equal")


def _has_keys_to_share(config: Config) -> None:
    """Blocks that share find a block of their sort before them that has keys and values."""
    num_layers, shared = LAYERS.read(config, 0), SHARED.read(config, 0)
    if shared == num_layers:
        return
    if shared > num_layers:
        config.fail(
            f"{config.place(SHARED.name)} is {shared}, but {config.place(LAYERS.name)} only {num_layers}; "
            "no more blocks than there are can share keys and values"
        )
    kinds = [_layer_type(config, layer) for layer in range(num_layers)]
    for kind in LAYER_TYPES:
        if kind in kinds and kind not in kinds[: num_layers - shared]:
            config.fail(
                f"{config.place(SHARED.name)} is {shared}, so by {config.place('layer_types')} (or its default) all "
                f"blocks of {kind} take keys and values from an "
                "earlier one, and none has them"
            )


WIDENED = Choose(Computed(_shares), {False: FFN, True: Times(2, FFN)})
DENSE = mlp(ffn_hidden=Choose(DOUBLE_WIDE, {False: FFN, True: WIDENED}))
FEED_FORWARD = Choose(
    WITH_EXPERTS,
    {
        False: DENSE,
        True: part(
            Moe,
            hidden=HIDDEN,
            num_experts=NUM_EXPERTS,
            experts_per_token=Size("top_k_experts"),
            ffn_hidden=width("moe_intermediate_size"),
            router_norm=True,
            shared=DENSE,
            # The router scales its input, and what each expert yields.
            other_params=Sum((HIDDEN, NUM_EXPERTS)),
        ),
    },
)


def _num_norms(config: Config, layer: int) -> int:
    """Two around each half; three more around experts, and one behind the block's own input."""
    own = 1 if LAYER_INPUT.read(config, layer) else 0
    return 4 + (3 if WITH_EXPERTS.read(config, layer) else 0) + own


def _layer_input_width(config: Config, layer: int) -> int:
    return int(LAYERS.read(config, layer) * LAYER_INPUT.read(config, layer))


def _layer_input_vocab(config: Config, layer: int) -> int:
    """A table only where blocks have inputs of their own."""
    if not LAYER_INPUT.read(config, layer):
        return 0
    return int(vocabulary("vocab_size_per_layer_input", default=262_144).read(config, layer))


GEMMA4_TEXT = (
    One(
        Part.EMBEDDING,
        part(
            Embedding,
            vocab=VOCAB,
            hidden=HIDDEN,
            layer_input_vocab=Computed(_layer_input_vocab),
            layer_input_width=Computed(_layer_input_width),
            # The norm of each block's share.
            other_params=LAYER_INPUT,
        ),
    ),
    *decoder(
        block(
            attention(
                num_kv_heads=Computed(_kv_heads),
                head_dim=Computed(_head_dim),
                output_bias=BIAS,
                qk_norm=QkNorm.HEAD,
                qk_norm_kind=NORM,
                normalises_values=True,
                value_is_key=Choose(Computed(_is_global), {True: KEY_IS_VALUE, False: False}),
                reuses_kv=Computed(_shares),
                causal=Choose(BOTH_WAYS, {"all": False, "vision": True}),
                window=Computed(_window),
                **biased(BIAS),
            ),
            FEED_FORWARD,
            norm=NORM,
            num_norms=Computed(_num_norms),
            layer_input=LAYER_INPUT,
        ),
        tied=TIED,
        norm=NORM,
    )[1:],
)
GEMMA4_CHECKS = (
    _knows_overrides,
    _has_keys_to_share,
    Rotation(HEAD_DIM, renamed={"proportional": "default"}),
    Activation("hidden_activation", GELU),
)

FAMILIES = (Family("Gemma4ForCausalLM", "gemma4_text", GEMMA4_TEXT, checks=GEMMA4_CHECKS),)
