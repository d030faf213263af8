"""BART, mBART and Pegasus: positions, norms and ties differ, blocks do not."""

from __future__ import annotations

from typing import Any

import pytest
from reading import read, read_file

from costmodel.errors import BadInputError

SIZES = {
    "d_model": 8,
    "encoder_layers": 2,
    "encoder_attention_heads": 2,
    "encoder_ffn_dim": 16,
    "decoder_layers": 1,
    "decoder_attention_heads": 4,
    "decoder_ffn_dim": 12,
    "max_position_embeddings": 10,
    "vocab_size": 30,
}
# Attention: four matrices 8 x 8 with biases = 288; a norm 16.
# A block of the encoder: 288 + 8 x 16 + 16 + 16 x 8 + 8 + 2 x 16 = 600; of the decoder: 2 x 288 + 8 x 12 + 12 + 12 x 8
# + 8 + 3 x 16 = 836.
TABLE, ENCODER, DECODER, NORM = 240, 2 * 600, 836, 16
CLASSIFIER = 8 * 8 + 8


@pytest.mark.parametrize(
    ("prefix", "positions", "num_norms", "num_labels"),
    [("Bart", 12, 2, 3), ("MBart", 12, 4, 2), ("Pegasus", 10, 2, None)],
)
def test_every_class_by_hand(prefix: str, positions: int, num_norms: int, num_labels: int | None) -> None:
    # Norms behind both embeddings (BART), behind both stacks (Pegasus), behind all four (mBART).
    model = TABLE + 2 * positions * 8 + ENCODER + DECODER + num_norms * NORM
    expected = {"ForConditionalGeneration": model, "Model": model}
    if num_labels is not None:
        expected["ForSequenceClassification"] = model + CLASSIFIER + num_labels * 8 + num_labels
        expected["ForQuestionAnswering"] = model + 2 * 8 + 2
    assert {name: read(f"{prefix}{name}", **SIZES).params_total for name in expected} == expected


@pytest.mark.parametrize("prefix", ["Bart", "MBart", "Pegasus"])
def test_how_much_the_encoder_reads_is_told(prefix: str) -> None:
    told = read(f"{prefix}ForConditionalGeneration", **SIZES).assumptions
    assert "The encoder is taken to read as many tokens as the decoder." in told


def test_untied_tables_are_four_of_which_one_serves_nobody() -> None:
    tied, untied = (read("BartForConditionalGeneration", **SIZES, tie_word_embeddings=tied) for tied in (True, False))
    assert untied.params_total == tied.params_total + 3 * TABLE


def test_blocks_of_bart_large_cnn() -> None:
    model = read_file("bart_large_cnn")
    assert model.params_total == 406_290_432
    assert model.max_seq_len == 1024
    assert model.num_layers == 12
    for block in model.blocks:
        assert block.mixer.causal
        assert not block.cross_attention.causal


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"decoder_ffn_dim": ...}, "decoder_ffn_dim"),
        ({"decoder_layers": None}, "decoder_layers"),
        ({"encoder_attention_heads": 3}, "encoder_attention_heads = 3 does not divide d_model"),
        ({"activation_function": 1}, "activation_function"),
        ({"num_hidden_layers": 3}, "both mean the same"),
    ],
)
def test_contradictions_are_refused_by_name(changes: dict[str, Any], named: str) -> None:
    data = {key: value for key, value in {**SIZES, **changes}.items() if value is not ...}
    with pytest.raises(BadInputError, match=named):
        read("BartForConditionalGeneration", **data)
