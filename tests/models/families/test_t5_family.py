"""T5, mT5 and UMT5: one table, biases by relative position, and a decoder that attends to the encoder."""

from __future__ import annotations

from typing import Any

import pytest
from reading import read, read_file

from costmodel.errors import BadInputError
from costmodel.spec import Attention, Block, Part

SIZES = {
    "d_model": 8,
    "d_kv": 3,
    "d_ff": 16,
    "num_layers": 2,
    "num_decoder_layers": 1,
    "num_heads": 2,
    "relative_attention_num_buckets": 4,
    "vocab_size": 30,
}
# Attention: four matrices 8 x 6 = 192. Two matrices 8 x 16 = 256, gated three = 384. A norm 8; biases by position
# 4 x 2 = 8.
TABLE, ATTENTION, NORM, BUCKETS = 240, 192, 8, 8
CLASSIFIER = 2 * 8 + 2


def _encoder(network: int, num_buckets: int) -> int:
    return 2 * (ATTENTION + network + 2 * NORM) + num_buckets * BUCKETS + NORM


def _decoder(network: int) -> int:
    return 2 * ATTENTION + network + 3 * NORM + BUCKETS + NORM


@pytest.mark.parametrize(
    ("prefix", "network", "num_buckets"),
    [("T5", 256, 1), ("MT5", 384, 1), ("UMT5", 384, 2)],  # UMT5 has biases in every block; mT5 and it are gated
)
def test_every_class_by_hand(prefix: str, network: int, num_buckets: int) -> None:
    encoder, decoder = TABLE + _encoder(network, num_buckets), _decoder(network)
    expected = {
        "ForConditionalGeneration": encoder + decoder,
        "Model": encoder + decoder,
        "EncoderModel": encoder,
        "ForSequenceClassification": encoder + decoder + 8 * 8 + 8 + CLASSIFIER,
        "ForQuestionAnswering": encoder + decoder + CLASSIFIER,
        "ForTokenClassification": encoder + CLASSIFIER,
    }
    assert {name: read(f"{prefix}{name}", **SIZES).params_total for name in expected} == expected


def test_the_old_name_of_the_class_reads_alike() -> None:
    for changes in ({}, {"feed_forward_proj": "gated-gelu"}, {"num_decoder_layers": None}):
        old, new = (
            read(f"T5{name}", **{**SIZES, **changes}) for name in ("WithLMHeadModel", "ForConditionalGeneration")
        )
        assert old.runs == new.runs


def test_how_much_the_encoder_reads_is_told_where_there_is_a_decoder() -> None:
    told = {
        name: "The encoder is taken to read as many tokens as the decoder." in read(f"T5{name}", **SIZES).assumptions
        for name in ("ForConditionalGeneration", "WithLMHeadModel", "ForQuestionAnswering", "Model", "EncoderModel")
    }
    assert [name for name in told if not told[name]] == ["EncoderModel"]


@pytest.mark.parametrize("prefix", ["T5", "MT5", "UMT5"])
@pytest.mark.parametrize("end", ["EncoderModel", "ForTokenClassification"])
def test_an_encoder_alone_is_no_decoder(prefix: str, end: str) -> None:
    with pytest.raises(BadInputError, match=f"is_decoder is true, but {prefix}{end} is an encoder alone"):
        read(f"{prefix}{end}", **SIZES, is_decoder=True)
    # Beside a decoder the class sets the key itself.
    assert read(f"{prefix}Model", **SIZES, is_decoder=True) == read(f"{prefix}Model", **SIZES)


def test_tables_are_tied_whatever_the_config_says() -> None:
    counts = {
        read("T5ForConditionalGeneration", **SIZES, tie_word_embeddings=tied).params_total for tied in (True, False)
    }
    assert len(counts) == 1


def test_blocks_of_flan_t5_xl() -> None:
    model = read_file("flan_t5_xl")
    encoder = [run for run in model.runs if run.part is Part.ENCODER and isinstance(run.layer, Block)]
    assert sum(run.count for run in encoder) == model.num_layers == 24
    first, second = encoder
    assert (first.count, second.count) == (1, 23)
    for run, buckets in ((first, 32), (second, 0)):
        assert isinstance(run.layer.mixer, Attention)
        assert not run.layer.mixer.causal
        assert run.layer.mixer.position_buckets == buckets
        assert run.layer.feed_forward.gated
    for block in model.blocks:
        assert block.mixer.causal
        assert not block.cross_attention.causal
        assert block.num_norms == 3


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"d_ff": None}, "d_ff"),
        ({"num_layers": 0}, "num_layers"),
        ({"num_heads": 2, "num_attention_heads": 3}, "both mean the same"),
        ({"feed_forward_proj": "gated-gated-gelu"}, "feed_forward_proj"),
        ({"feed_forward_proj": ["relu"]}, "feed_forward_proj"),
    ],
)
def test_contradictions_are_refused_by_name(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(BadInputError, match=named):
        read("T5ForConditionalGeneration", **{**SIZES, **changes})
