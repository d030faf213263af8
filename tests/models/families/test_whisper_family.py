"""Whisper: a window of sound in, text that attends to its frames out."""

from __future__ import annotations

from typing import Any

import pytest
from reading import read, read_file

from costmodel.errors import BadInputError
from costmodel.spec import Part, Stem

SIZES = {
    "d_model": 8,
    "encoder_layers": 2,
    "encoder_attention_heads": 2,
    "encoder_ffn_dim": 16,
    "decoder_layers": 1,
    "decoder_attention_heads": 4,
    "decoder_ffn_dim": 12,
    "max_source_positions": 20,
    "max_target_positions": 10,
    "num_mel_bins": 5,
    "vocab_size": 30,
    "pad_token_id": 0,
}
# Stem: 3 x 5 x 8 + 8, 3 x 8 x 8 + 8, 20 positions x 8 = 488. Attention without the bias of keys: 4 x 64 + 3 x 8 = 280.
# Encoder's block 280 + 280 + 32 = 592, its norm 16. Decoder: 40 rows x 8; 2 x 280 + 212 + 48 = 820; norm 16.
ENCODER, DECODER = 488 + 2 * 592 + 16, 320 + 820 + 16


@pytest.mark.parametrize(
    ("name", "changes", "count"),
    [
        ("WhisperForConditionalGeneration", {}, ENCODER + DECODER),
        ("WhisperForConditionalGeneration", {"tie_word_embeddings": False}, ENCODER + DECODER + 240),
        ("WhisperModel", {}, ENCODER + DECODER),
        ("WhisperForAudioClassification", {"classifier_proj_size": 4}, ENCODER + 8 * 4 + 4 + 4 * 2 + 2),
        (
            "WhisperForAudioClassification",
            {"classifier_proj_size": 4, "use_weighted_layer_sum": True},
            ENCODER + 8 * 4 + 4 + 4 * 2 + 2 + 3,
        ),
    ],
)
def test_every_class_by_hand(name: str, changes: dict[str, Any], count: int) -> None:
    assert read(name, **SIZES, **changes).params_total == count


def test_whisper_large_v3() -> None:
    model = read_file("whisper_large_v3")
    assert model.params_total == 1_543_490_560
    assert model.max_seq_len == 448
    assert {run.num_tokens for run in model.runs if run.part is Part.ENCODER} == {1500}
    stem = model.runs[0].layer
    assert isinstance(stem, Stem)
    assert [filter.outputs_per_token for filter in stem.filters] == [2, 1]
    for block in model.blocks:
        assert block.cross_attention.source_len == 1500
        assert block.mixer.causal
        assert not block.mixer.key_bias


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"encoder_layers": ...}, "encoder_layers"),
        ({"decoder_attention_heads": 3}, "decoder_attention_heads = 3 does not divide d_model"),
        ({"max_source_positions": 0}, "max_source_positions"),
        ({"num_mel_bins": [80]}, "num_mel_bins"),
    ],
)
def test_contradictions_are_refused_by_name(changes: dict[str, Any], named: str) -> None:
    data = {key: value for key, value in {**SIZES, **changes}.items() if value is not ...}
    with pytest.raises(BadInputError, match=named):
        read("WhisperForConditionalGeneration", **data)
