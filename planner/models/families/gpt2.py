"""GPT-2 and its near relations: a table of positions or rotary ones, LayerNorm, a plain feed-forward network.

GPT-2, GPTBigCode (StarCoder), GPT-Neo with its local windows, and the two whose attention and feed-forward network
read the same input: GPT-J and CodeGen.
"""

from __future__ import annotations

from typing import Any

from costmodel.spec import Embedding, Head, Norm, Part
from costmodel.spec.shown import shown
from planner.models.config import Config
from planner.models.families.checks import Activation
from planner.models.families.parts import TIED, UNTIED, attention, biased, block, mlp
from planner.models.family import POSITIONS, Family, One, RunSource, Stack
from planner.models.keys import (
    MAX_LAYERS,
    Choose,
    Computed,
    Flag,
    PerLayer,
    Quotient,
    Size,
    Times,
    layers,
    origin,
    part,
    tokens,
    vocabulary,
    width,
)

HIDDEN = width("n_embd", aliases=("hidden_size",))
LAYERS = layers("n_layer", aliases=("num_hidden_layers",))
HEADS = Size("n_head", aliases=("num_attention_heads",))
HEAD_DIM = Quotient(HIDDEN, HEADS)
FFN = width("n_inner", default=Times(4, HIDDEN), null=Times(4, HIDDEN))
VOCAB = vocabulary()
POSITIONS_OF_1024 = tokens("n_positions", default=1024, aliases=("max_position_embeddings",))
POSITIONS_OF_2048 = tokens("n_positions", default=2048, aliases=("max_position_embeddings",))
GELU = Activation("activation_function", "gelu_new")
TANH_GELU = Activation("activation_function", "gelu_pytorch_tanh")

CROSS = Flag("add_cross_attention", default=False)
"""Whether each block also attends to an encoder, which is not part of the class."""


def _heads(**changes: Any) -> Any:
    fields = {"hidden": HIDDEN, "num_heads": HEADS, "num_kv_heads": HEADS, "head_dim": HEAD_DIM}
    return attention(**{**fields, **changes})


def _network(**changes: Any) -> Any:
    return mlp(**{"hidden": HIDDEN, "ffn_hidden": FFN, "gated": False, "bias": True, "activation": GELU, **changes})


def _model(blocks: Any, *, tied: Flag, positions: Any = 0, head_bias: bool = False) -> tuple[RunSource, ...]:
    return (
        One(Part.EMBEDDING, part(Embedding, vocab=VOCAB, hidden=HIDDEN, num_positions=positions)),
        Stack(blocks, LAYERS),
        One(Part.HEAD, part(Head, vocab=VOCAB, hidden=HIDDEN, tied=tied, norm=Norm.LAYER, bias=head_bias)),
    )


BIASED = {**biased(True), "output_bias": True}
CROSS_ATTENTION = {
    "cross_attention": Choose(CROSS, {False: None, True: _heads(causal=False, source_hidden=HIDDEN, **BIASED)}),
    "num_norms": Choose(CROSS, {False: 2, True: 3}),
}

PARALLEL = block(_heads(), _network(), hidden=HIDDEN, norm=Norm.LAYER, num_norms=1, parallel=True)
"""The block of GPT-J and CodeGen: one norm before both halves, biases in the feed-forward network only."""

MULTI_QUERY = Flag("multi_query", default=True)

NEO_HIDDEN = width("hidden_size")
NEO_LAYERS = layers("num_layers", aliases=("num_hidden_layers",))
NEO_HEADS = Size("num_heads", aliases=("num_attention_heads",))
NEO_FFN = width("intermediate_size", default=Times(4, NEO_HIDDEN), null=Times(4, NEO_HIDDEN))
NEO_POSITIONS = tokens("max_position_embeddings", default=2048)
NEO_TYPES = ("global", "local")


def _cross_attention_is_of_every_head(config: Config) -> None:
    """GPTBigCode knows no cross-attention with a single key head."""
    if CROSS.read(config, 0) and MULTI_QUERY.read(config, 0):
        config.fail(
            "add_cross_attention is true, but with multi_query the class knows no cross-attention; "
            "set one of them to false"
        )


def _can_rotate(config: Config) -> None:
    """GPT-J and CodeGen turn the first `rotary_dim` dimensions of a head, in pairs."""
    rotary_dim = Size("rotary_dim", default=64).read(config, 0)
    head_dim = HEAD_DIM.read(config, 0)
    if rotary_dim % 2 or rotary_dim > head_dim:
        config.fail(
            f"rotary_dim is {rotary_dim}, but must be even and at most the {head_dim} dimensions of a head, "
            f"{origin(HEAD_DIM, config)}"
        )


def _has_four_shards(config: Config) -> None:
    """CodeGen reads its fused projection in the four shards that it was trained with."""
    num_heads = HEADS.read(config, 0)
    if num_heads % 4:
        config.fail(f"{HEADS.name} is {num_heads}, but must be a multiple of 4 in {config.architecture}")


def _neo_type(config: Config, layer: int) -> str:
    """The entry of `attention_types`, written as `[[[type, ...], times], ...]`, for `layer`."""
    key = "attention_types"
    num_layers = NEO_LAYERS.read(config, 0)
    groups = config.data.get(key)
    if groups is None:
        groups = [[["global", "local"], 12]]
    types: list[str] = []
    for group in groups if isinstance(groups, list) else [groups]:
        match group:
            case [[*names], int(times)] if (
                0 < times * len(names) <= MAX_LAYERS
                and type(times) is int
                and len(types) <= MAX_LAYERS
                and all(name in NEO_TYPES for name in names)
            ):
                types += names * times
            case _:
                config.fail(
                    f"{config.place(key)} holds {shown(group)}, but each entry must be a list of global and local, "
                    "and how often it is repeated"
                )
    if len(types) != num_layers:
        config.fail(
            f"{config.place(key)} describes {len(types)} blocks, but {config.place(NEO_LAYERS.name)} is {num_layers}; "
            "they must be as many"
        )
    return types[layer]


NEO_ATTENTION = attention(
    hidden=NEO_HIDDEN,
    num_heads=NEO_HEADS,
    num_kv_heads=NEO_HEADS,
    head_dim=Quotient(NEO_HIDDEN, NEO_HEADS),
    output_bias=True,
    window=Choose(
        PerLayer("attention_layers", NEO_LAYERS, NEO_TYPES, default=Computed(_neo_type)),
        {"global": None, "local": tokens("window_size", default=256)},
    ),
)

FAMILIES = (
    Family(
        "GPT2LMHeadModel",
        "gpt2",
        _model(
            block(_heads(**BIASED), _network(), hidden=HIDDEN, norm=Norm.LAYER, **CROSS_ATTENTION),
            tied=TIED,
            positions=POSITIONS_OF_1024,
        ),
        max_seq_len=POSITIONS_OF_1024,
        checks=(GELU,),
    ),
    Family(
        "GPTBigCodeForCausalLM",
        "gpt_bigcode",
        _model(
            block(
                _heads(num_kv_heads=Choose(MULTI_QUERY, {True: 1, False: HEADS}), **BIASED),
                _network(activation=TANH_GELU),
                hidden=HIDDEN,
                norm=Norm.LAYER,
                **CROSS_ATTENTION,
            ),
            tied=TIED,
            positions=POSITIONS_OF_1024,
        ),
        max_seq_len=POSITIONS_OF_1024,
        checks=(TANH_GELU, _cross_attention_is_of_every_head),
    ),
    Family(
        "GPTNeoForCausalLM",
        "gpt_neo",
        (
            One(Part.EMBEDDING, part(Embedding, vocab=VOCAB, hidden=NEO_HIDDEN, num_positions=NEO_POSITIONS)),
            Stack(
                block(NEO_ATTENTION, mlp(ffn_hidden=NEO_FFN, gated=False, bias=True, activation=GELU), norm=Norm.LAYER),
                NEO_LAYERS,
            ),
            One(Part.HEAD, part(Head, vocab=VOCAB, hidden=NEO_HIDDEN, tied=TIED, norm=Norm.LAYER)),
        ),
        max_seq_len=POSITIONS,
        checks=(GELU,),
    ),
    Family(
        "GPTJForCausalLM",
        "gptj",
        _model(PARALLEL, tied=UNTIED, head_bias=True),
        max_seq_len=POSITIONS_OF_2048,
        checks=(GELU, _can_rotate),
    ),
    Family(
        "CodeGenForCausalLM",
        "codegen",
        _model(PARALLEL.but(mixer=_heads(rotates_joint_projection=True)), tied=UNTIED, head_bias=True),
        max_seq_len=POSITIONS_OF_2048,
        checks=(GELU, _can_rotate, _has_four_shards),
    ),
)
