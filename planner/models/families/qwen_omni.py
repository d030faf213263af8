"""Qwen2.5-Omni's thinker: Whisper's encoder of sound and Qwen2.5-VL's tower of vision before a language model."""

from __future__ import annotations

from costmodel.spec import Dense, Part
from planner.models.families.checks import Activation
from planner.models.families.encoder_parts import inside
from planner.models.families.language import ONE_IMAGE, ONE_WINDOW, Language, by_model_type, equals_text_width
from planner.models.families.qwen_audio import SIZES, TOKENS, TOWER_WIDTH
from planner.models.families.qwen_vision import tower_2_5
from planner.models.families.qwen_vl import TEXT_2_CHECKS, text_2
from planner.models.families.whisper import tower
from planner.models.family import Family, One, Within
from planner.models.keys import In, Times, part

# The head is tied where the outer config says so.
LANGUAGE = Language(
    by_model_type(Family("Qwen2_5OmniThinkerTextModel", "qwen2_5_omni_text", text_2(4), checks=TEXT_2_CHECKS)),
    "qwen2_5_omni_text",
)
OUT_WIDTH = equals_text_width(LANGUAGE, "output_dim", 3584, "audio_config")

FAMILIES: tuple[Family, ...] = (
    Family(
        "Qwen2_5OmniThinkerForConditionalGeneration",
        "qwen2_5_omni_thinker",
        (
            Within("audio_config", tower(Part.AUDIO, Part.AUDIO, *SIZES, learns=False)),
            One(
                Part.CONNECTOR,
                # With learned tokens for where sound begins and ends.
                part(
                    Dense,
                    hidden=In("audio_config", TOWER_WIDTH),
                    out=OUT_WIDTH,
                    bias=True,
                    other_params=Times(2, OUT_WIDTH),
                ),
                num_tokens=In("audio_config", TOKENS),
            ),
            *tower_2_5(LANGUAGE),
            LANGUAGE,
        ),
        max_seq_len=LANGUAGE.longest,
        checks=(
            inside("audio_config", Activation("activation_function", "gelu")),
            inside("vision_config", Activation("hidden_act", "silu")),
        ),
        note=f"{ONE_IMAGE} {ONE_WINDOW}",
    ),
)
