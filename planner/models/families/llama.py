"""Llama 1 to 3, and the plain decoders that differ from it in defaults only: Mistral, Qwen 2 and Qwen 3."""

from __future__ import annotations

from costmodel.spec import QkNorm
from costmodel.spec.shown import shown
from planner.models.config import Config
from planner.models.families.checks import Activation, Number
from planner.models.families.parts import (
    HEAD_DIM,
    HEAD_SPLIT,
    HEADS,
    HIDDEN,
    LAYERS,
    UNTIED,
    attention,
    biased,
    block,
    decoder,
    mlp,
)
from planner.models.family import Family
from planner.models.keys import Choose, Computed, Flag, PerLayer, Size, origin, tokens, width
from planner.models.rope import check_rope

ATTENTION_BIAS = Flag("attention_bias", default=False)
MLP_BIAS = Flag("mlp_bias", default=False)
KV_HEADS_OF_8 = Size("num_key_value_heads", default=8, null=HEADS)
KV_HEADS_OF_32 = Size("num_key_value_heads", default=32, null=HEADS)
HEAD_DIM_128 = width("head_dim", default=128, null=HEAD_SPLIT)

LAYER_TYPES = ("full_attention", "sliding_attention")


def rotates(config: Config) -> None:
    """The angles of the rotary embedding can be computed."""
    head_dim = HEAD_DIM.read(config, 0)
    if head_dim % 2:
        given = config.has(HEAD_DIM.name)
        state = "" if given else f" ({origin(HEAD_DIM, config)})"
        config.fail(
            f"{config.place(HEAD_DIM.name)} is {head_dim}{state}, but rotary position embeddings need an even one"
        )
    check_rope(config.data, head_dim, config.where, config.place(""))


def knows_blocks(config: Config) -> None:
    """Kinds of blocks are such as these classes have, even where a class passes them over, since transformers asks."""
    if config.has("layer_types"):
        kinds = config.items("layer_types", LAYERS.read(config, 0), config.place(LAYERS.name))
        for layer, kind in enumerate(kinds):
            if kind not in LAYER_TYPES:
                config.fail(
                    f"{config.place('layer_types')}[{layer}] is {shown(kind)}, but must be one of "
                    f"{', '.join(LAYER_TYPES)}"
                )


def knows_windows(config: Config) -> None:
    """Sizes of windows are such, even where windows are switched off."""
    for size in (tokens("sliding_window"), Size("max_window_layers", least=0)):
        if config.has(size.name):
            size.read(config, 0)


def drops_nothing(config: Config) -> None:
    """Dropout of attention is neither priced nor run, whatever its value."""
    dropout = config.data.get("attention_dropout")
    if dropout not in (None, 0):
        config.assume(f"attention_dropout is {shown(dropout)}, but training here drops nothing; it is passed over.")


def splits_width(config: Config) -> None:
    """Transformers asks the heads of Llama to divide the width, even where their own width is given."""
    hidden, heads = HIDDEN.read(config, 0), HEADS.read(config, 0)
    if hidden % heads:
        config.fail(
            f"{config.place(HIDDEN.name)} is {hidden}, but must be a multiple of {config.place(HEADS.name)}, which is "
            f"{heads}: transformers builds no other {config.architecture}"
        )


CHECKS = (
    rotates,
    Activation(),
    knows_blocks,
    knows_windows,
    drops_nothing,
    Number("rms_norm_eps", 1e-12, 1.0),
    Number("initializer_range", 0.0, 1.0),
)
"""What the classes that are trained here ask for."""


def _qwen_layer_type(config: Config, layer: int) -> str:
    """Windows begin at block max_window_layers."""
    first = Size("max_window_layers", default=28, least=0).read(config, layer)
    return "sliding_attention" if layer >= first else "full_attention"


QWEN_WINDOW = Choose(
    Flag("use_sliding_window", default=False),
    {
        False: None,
        True: Choose(
            PerLayer("layer_types", LAYERS, LAYER_TYPES, default=Computed(_qwen_layer_type)),
            {"full_attention": None, "sliding_attention": tokens("sliding_window", default=4096, null=None)},
        ),
    },
)
"""Windows are off unless switched on."""

FAMILIES = (
    Family(
        "LlamaForCausalLM",
        "llama",
        decoder(
            block(attention(**biased(ATTENTION_BIAS), output_bias=ATTENTION_BIAS), mlp(bias=MLP_BIAS)), tied=UNTIED
        ),
        checks=(*CHECKS, splits_width),
    ),
    Family(
        "MistralForCausalLM",
        "mistral",
        decoder(
            block(
                attention(num_kv_heads=KV_HEADS_OF_8, window=tokens("sliding_window", default=4096, null=None)), mlp()
            ),
            tied=UNTIED,
        ),
        checks=CHECKS,
    ),
    Family(
        "Qwen2ForCausalLM",
        "qwen2",
        decoder(
            block(attention(num_kv_heads=KV_HEADS_OF_32, head_dim=HEAD_DIM, window=QWEN_WINDOW, **biased(True)), mlp()),
            tied=UNTIED,
        ),
        checks=CHECKS,
    ),
    Family(
        "Qwen3ForCausalLM",
        "qwen3",
        decoder(
            block(
                attention(
                    num_kv_heads=KV_HEADS_OF_32,
                    head_dim=HEAD_DIM_128,
                    window=QWEN_WINDOW,
                    qk_norm=QkNorm.HEAD,
                    output_bias=ATTENTION_BIAS,
                    **biased(ATTENTION_BIAS),
                ),
                mlp(),
            ),
            tied=UNTIED,
        ),
        checks=CHECKS,
    ),
)
