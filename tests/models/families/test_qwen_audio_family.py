"""Qwen2-Audio: Whisper's encoder before a Qwen."""

from __future__ import annotations

import pytest
from reading import read, read_file

from costmodel.errors import BadInputError
from costmodel.spec import Part

AUDIO = {
    "d_model": 4,
    "encoder_layers": 2,
    "encoder_attention_heads": 2,
    "encoder_ffn_dim": 16,
    "max_source_positions": 20,
    "num_mel_bins": 5,
}
TEXT = {
    "hidden_size": 8,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "vocab_size": 30,
}


def test_every_part_by_hand() -> None:
    text = {**TEXT, "tie_word_embeddings": True}
    model = read("Qwen2AudioForConditionalGeneration", audio_config=AUDIO, text_config=text)
    # Sound: convolutions 64 and 52, 20 positions x 4; a block 4 x 16 + 3 x 4 + 148 + 16 = 240, twice; a norm 8.
    # Text: queries and output 64, keys and values 32 each, biases 16, three matrices 128, norms 16. Never tied.
    assert model.params_by_part == {
        "audio": 64 + 52 + 80 + 480 + 8,
        "connector": 4 * 8 + 8,
        "embedding": 240,
        "blocks": 192 + 16 + 384 + 16,
        "head": 240 + 8,
    }


def test_two_frames_become_a_token() -> None:
    model = read_file("qwen2_audio_7b")
    assert model.params_total == 8_397_094_912
    assert {run.num_tokens for run in model.runs if run.part is Part.AUDIO} == {1500}
    assert {run.num_tokens for run in model.runs if run.part is Part.CONNECTOR} == {750}


def test_contradictions_are_refused_by_name() -> None:
    with pytest.raises(BadInputError, match=r"audio_config\.encoder_ffn_dim is null"):
        read("Qwen2AudioForConditionalGeneration", audio_config={**AUDIO, "encoder_ffn_dim": None}, text_config=TEXT)
    with pytest.raises(BadInputError, match=r"text_config\.model_type is 'bert'"):
        read("Qwen2AudioForConditionalGeneration", audio_config=AUDIO, text_config={**TEXT, "model_type": "bert"})
