"""Qwen2-Audio: Whisper's encoder of sound before a language model."""

from __future__ import annotations

from costmodel.spec import Dense, Part
from planner.models.families import llama, qwen_moe
from planner.models.families.encoder_parts import inside, is_of_type
from planner.models.families.language import ONE_WINDOW, Language, by_model_type
from planner.models.families.whisper import FRAMES, tower
from planner.models.family import Family, One, Within
from planner.models.keys import Computed, In, Size, layers, part, width

TOWER_WIDTH = width("d_model", aliases=("hidden_size",))
SIZES = (
    TOWER_WIDTH,
    Size("encoder_attention_heads", aliases=("num_attention_heads",)),
    width("encoder_ffn_dim", aliases=("intermediate_size",)),
    layers("encoder_layers", aliases=("num_hidden_layers",)),
    Size("num_mel_bins", default=128),
)
"""Of the tower: width, heads, feed-forward network, blocks and bins of the spectrum."""
TOKENS = Computed(lambda config, layer: max(1, FRAMES.read(config, layer) // 2))
"""Two frames are averaged."""
# The head is never tied.
LANGUAGE = Language(by_model_type(*llama.FAMILIES, *qwen_moe.FAMILIES), "qwen2", tied=False)

FAMILIES: tuple[Family, ...] = (
    Family(
        "Qwen2AudioForConditionalGeneration",
        "qwen2_audio",
        (
            Within("audio_config", tower(Part.AUDIO, Part.AUDIO, *SIZES)),
            One(
                Part.CONNECTOR,
                part(Dense, hidden=In("audio_config", TOWER_WIDTH), out=LANGUAGE.width, bias=True),
                num_tokens=In("audio_config", TOKENS),
            ),
            LANGUAGE,
        ),
        max_seq_len=LANGUAGE.longest,
        checks=(inside("audio_config", is_of_type("qwen2_audio_encoder")),),
        note=ONE_WINDOW,
    ),
)
