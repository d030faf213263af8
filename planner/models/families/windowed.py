"""Decoders like Llama with attention windows in some blocks: SmolLM3, EXAONE 4, Ministral, Ministral 3 and CWM."""

from __future__ import annotations

from typing import Any

from costmodel.spec import QkNorm
from costmodel.spec.shown import shown
from planner.models.config import Config
from planner.models.families.checks import LAYER_TYPES, Activation, Rotation, heads_divide
from planner.models.families.encoder_parts import pads_within
from planner.models.families.parts import LAYERS, TIED, UNTIED, attention, block, decoder, mlp
from planner.models.families.plain import HEAD_DIM_128, LLAMA_LIKE, MLP_BIAS, heads, kv_heads
from planner.models.family import Family
from planner.models.keys import Choose, Computed, Flag, PerLayer, Size, tokens

WINDOW_OF_4096 = tokens("sliding_window", default=4096, null=None)
NO_WINDOW = tokens("sliding_window", default=None)
WINDOWED = "sliding_attention"
WHOLE = "full_attention"


def by_type(default: Any, window: Any) -> Choose:
    """`window` in the blocks that `layer_types` gives one, or `default` where there is no such list."""
    return Choose(
        PerLayer("layer_types", LAYERS, LAYER_TYPES, default=Computed(default)), {WHOLE: None, WINDOWED: window}
    )


def _smollm3_type(config: Config, layer: int) -> str:
    """Windows, if any, in the blocks without rotary positions: every fourth, unless a list says 0 for them."""
    period = Size("no_rope_layer_interval", default=4).read(config, layer)
    rotates = (layer + 1) % period != 0
    key = "no_rope_layers"
    if config.has(key):
        count = LAYERS.read(config, layer)
        entry = config.items(key, count, config.place(LAYERS.name))[layer]
        if type(entry) is not int or entry not in (0, 1):
            config.fail(f"{config.place(key)}[{layer}] is {shown(entry)}, but must be 0 or 1")
        rotates = entry == 1
    return WHOLE if rotates or not config.has("sliding_window") else WINDOWED


def _exaone4_type(config: Config, layer: int) -> str:
    """Without a window every block sees everything; with one, the last of each group of blocks does."""
    if not WINDOW_OF_4096.read(config, layer):
        return WHOLE
    return WINDOWED if (layer + 1) % Size("sliding_window_pattern", default=4).read(config, layer) else WHOLE


def _ministral_type(config: Config, layer: int) -> str:
    """All blocks alike."""
    return WINDOWED if WINDOW_OF_4096.read(config, layer) else WHOLE


def _cwm_type(_config: Config, layer: int) -> str:
    """The first of every four blocks sees the whole sequence."""
    return WINDOWED if layer % 4 else WHOLE


FAMILIES = (
    Family(
        "SmolLM3ForCausalLM",
        "smollm3",
        decoder(
            block(
                heads(
                    num_kv_heads=kv_heads(4),
                    window=Choose(
                        Flag("use_sliding_window", default=False),
                        {False: None, True: by_type(_smollm3_type, NO_WINDOW)},
                    ),
                ),
                mlp(bias=MLP_BIAS),
            ),
            tied=TIED,
        ),
        checks=(*LLAMA_LIKE, pads_within()),
    ),
    Family(
        "Exaone4ForCausalLM",
        "exaone4",
        decoder(
            block(
                attention(
                    num_kv_heads=kv_heads(32), qk_norm=QkNorm.HEAD, window=by_type(_exaone4_type, WINDOW_OF_4096)
                ),
                mlp(),
                norms_output=True,
            ),
            tied=UNTIED,
        ),
        checks=LLAMA_LIKE,
    ),
    Family(
        "MinistralForCausalLM",
        "ministral",
        decoder(
            block(attention(num_kv_heads=kv_heads(8), window=by_type(_ministral_type, WINDOW_OF_4096)), mlp()),
            tied=UNTIED,
        ),
        checks=LLAMA_LIKE,
    ),
    Family(
        "Ministral3ForCausalLM",
        "ministral3",
        decoder(
            block(attention(num_kv_heads=kv_heads(8), head_dim=HEAD_DIM_128, window=NO_WINDOW), mlp()), tied=UNTIED
        ),
        checks=(Rotation(HEAD_DIM_128), Activation()),
    ),
    Family(
        "CwmForCausalLM",
        "cwm",
        decoder(
            block(
                attention(
                    num_kv_heads=kv_heads(8),
                    head_dim=HEAD_DIM_128,
                    window=by_type(_cwm_type, tokens("sliding_window", default=8192, null=None)),
                ),
                mlp(bias=MLP_BIAS),
            ),
            tied=UNTIED,
        ),
        checks=(heads_divide, Rotation(HEAD_DIM_128), Activation()),
    ),
)
