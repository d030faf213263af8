"""Gemma 1 to 3: free head width, GELU gates, tables tied; norms behind each half from 2 on, windows in most blocks.

The layers of Gemma 3's text model also stand inside a multimodal config, so they are a tuple of their own.
"""

from __future__ import annotations

from typing import Any

from costmodel.spec import Norm, QkNorm
from planner.models.config import Config
from planner.models.families.checks import LAYER_TYPES, Activation, Number, Rotation, heads_divide
from planner.models.families.parts import (
    HEADS,
    LAYERS,
    TIED,
    attention,
    biased,
    block,
    decoder,
    mlp,
)
from planner.models.family import Family
from planner.models.keys import Choose, Computed, Flag, PerLayer, Size, tokens, width

HEAD_DIM = width("head_dim", default=256)
BIAS = Flag("attention_bias", default=False)
BOTH_WAYS = Flag("use_bidirectional_attention", default=False)
"""Embedding models see the tokens that follow, too."""
WINDOW = tokens("sliding_window", default=4096, null=None)
GELU = "gelu_pytorch_tanh"
NORM = Norm.RMS_GAIN_IN_FP32


SCALE = Number("query_pre_attn_scalar", 1, 2**23)
"""The square of what scores are divided by."""


def _every_other(_config: Config, layer: int) -> str:
    """Windows in the first block, and in every second one from there."""
    return "full_attention" if layer % 2 else "sliding_attention"


def _all_but_every_sixth(config: Config, layer: int) -> str:
    """Windows in all blocks but the last of each group, which sees the whole sequence."""
    period = Size("sliding_window_pattern", default=6, null=6).read(config, layer)
    return "sliding_attention" if (layer + 1) % period else "full_attention"


def _window_of_gemma3(config: Config, layer: int) -> int | None:
    """A window that reaches both ways is half as long on each side."""
    window: int | None = WINDOW.read(config, layer)
    return window if window is None or not BOTH_WAYS.read(config, layer) else window // 2 + 1


def causal_unless(both_ways: Flag) -> Choose:
    """Whether attention is causal."""
    return Choose(both_ways, {True: False, False: True})


def heads(**changes: Any) -> Any:
    """Attention with one switch for all biases."""
    return attention(head_dim=HEAD_DIM, output_bias=BIAS, **biased(BIAS), **changes)


def windowed(window: Any, layer_type: Any) -> Choose:
    """`window` in the blocks that have one."""
    types = PerLayer("layer_types", LAYERS, LAYER_TYPES, default=Computed(layer_type))
    return Choose(types, {"full_attention": None, "sliding_attention": window})


KV_HEADS_OF_4 = Size("num_key_value_heads", default=4, null=HEADS)


def gemma1(both_ways: Flag = BOTH_WAYS) -> Family:
    """Gemma; PaliGemma has another `both_ways`."""
    mixer = heads(num_kv_heads=Size("num_key_value_heads", default=16, null=HEADS), causal=causal_unless(both_ways))
    return Family(
        "GemmaForCausalLM",
        "gemma",
        decoder(block(mixer, mlp(), norm=NORM), tied=TIED, norm=NORM),
        checks=(Rotation(HEAD_DIM), Activation(default=GELU)),
    )


def gemma2(both_ways: Flag = BOTH_WAYS) -> Family:
    """Gemma 2, likewise."""
    mixer = heads(num_kv_heads=KV_HEADS_OF_4, causal=causal_unless(both_ways), window=windowed(WINDOW, _every_other))
    return Family(
        "Gemma2ForCausalLM",
        "gemma2",
        decoder(block(mixer, mlp(), norm=NORM, num_norms=4), tied=TIED, norm=NORM),
        checks=(heads_divide, SCALE, Rotation(HEAD_DIM), Activation("hidden_activation", GELU)),
    )


FAMILIES = (
    gemma1(),
    gemma2(),
    Family(
        "Gemma3ForCausalLM",
        "gemma3_text",
        decoder(
            block(
                heads(
                    num_kv_heads=KV_HEADS_OF_4,
                    qk_norm=QkNorm.HEAD,
                    qk_norm_kind=NORM,
                    causal=causal_unless(BOTH_WAYS),
                    window=windowed(Computed(_window_of_gemma3), _all_but_every_sixth),
                ),
                mlp(),
                norm=NORM,
                num_norms=4,
            ),
            tied=TIED,
            norm=NORM,
        ),
        checks=(heads_divide, SCALE, Rotation(HEAD_DIM), Activation("hidden_activation", GELU)),
    ),
)
