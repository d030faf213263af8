"""Voxtral: frames side by side become tokens of a Llama whose missing keys take Voxtral's own values."""

from __future__ import annotations

from typing import Any

import pytest
from reading import read

from costmodel.errors import BadInputError
from costmodel.spec import Attention, Part

AUDIO = {
    "hidden_size": 4,
    "intermediate_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_source_positions": 20,
    "num_mel_bins": 5,
}
TEXT = {
    "model_type": "llama",
    "hidden_size": 8,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 8,
    "vocab_size": 30,
}


def test_every_part_by_hand() -> None:
    model = read("VoxtralForConditionalGeneration", audio_config=AUDIO, text_config=TEXT)
    # Sound: convolutions 3 x 5 x 4 + 4 and 3 x 4 x 4 + 4, 20 positions x 4; a block 4 x 16 + 3 x 4 + 148 + 16 = 240,
    # twice; a norm 8. Connector 16 x 8 and 8 x 8. Text: 8 heads of 128 for queries and, by Voxtral's own default, 8 for
    # keys and values: 4 x 8 x 1024, three matrices 128, norms 16.
    assert model.params_by_part == {
        "audio": 64 + 52 + 80 + 480 + 8,
        "connector": 128 + 64,
        "embedding": 240,
        "blocks": 32768 + 384 + 16,
        "head": 240 + 8,
    }
    attention = model.blocks[0].mixer
    assert isinstance(attention, Attention)
    assert (attention.head_dim, attention.num_kv_heads) == (128, 8)


def test_four_frames_become_a_token() -> None:
    model = read("VoxtralForConditionalGeneration", audio_config=AUDIO, text_config=TEXT)
    assert {run.num_tokens for run in model.runs if run.part is Part.AUDIO} == {20}
    assert {run.num_tokens for run in model.runs if run.part is Part.CONNECTOR} == {5}


def test_the_head_is_never_tied() -> None:
    text = {**TEXT, "tie_word_embeddings": True}
    assert not read("VoxtralForConditionalGeneration", audio_config=AUDIO, text_config=text).tied


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"audio_config": None}, "audio_config is null"),
        ({"audio_config": {**AUDIO, "num_hidden_layers": None}}, "audio_config.num_hidden_layers is null"),
        ({"audio_config": {**AUDIO, "intermediate_size": 12}}, "audio_config.intermediate_size is 12"),
        ({"audio_config": {**AUDIO, "model_type": "gemma4_audio"}}, "audio_config.model_type is 'gemma4_audio'"),
        ({"audio_config": {**AUDIO, "d_model": 8}}, "both mean the same"),
        ({"text_config": {**TEXT, "model_type": "qwen2"}}, "text_config.model_type is 'qwen2'"),
        ({"text_config": {**TEXT, "num_local_experts": 8}}, "text_config.num_local_experts is 8"),
    ],
)
def test_contradictions_are_refused_by_name(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(BadInputError, match=named):
        read("VoxtralForConditionalGeneration", **{"audio_config": AUDIO, "text_config": TEXT, **changes})
