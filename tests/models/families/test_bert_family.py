"""BERT and its like: counts by hand, windows of ModernBERT, and what must be refused."""

from __future__ import annotations

from typing import Any

import pytest
from reading import read, read_file

from costmodel.errors import BadInputError
from costmodel.spec import Attention, Norm

SIZES = {
    "hidden_size": 8,
    "intermediate_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "vocab_size": 30,
    "max_position_embeddings": 10,
}
# Embedding: 30 tokens, 10 positions and 2 types of width 8, norm 2 x 8: 352. A block: four matrices 8 x 8 with biases
# 4 x 72 = 288; 8 x 16 + 16 and 16 x 8 + 8 = 280; two norms 2 x 16 = 32: 600, twice 1200. A pooler 8 x 8 + 8 = 72.
BACKBONE, POOLER = 1552, 72
# Transform 8 x 8 + 8, its norm 16, bias of the vocabulary 30; the table is that of the embedding.
MASKED_LM = 118


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("ForMaskedLM", MASKED_LM),
        ("LMHeadModel", MASKED_LM),
        ("ForPreTraining", POOLER + 2 * 8 + 2 + MASKED_LM),
        ("Model", POOLER),
        ("ForNextSentencePrediction", POOLER + 2 * 8 + 2),
        ("ForSequenceClassification", POOLER + 3 * 8 + 3),
        ("ForMultipleChoice", POOLER + 8 + 1),
        ("ForTokenClassification", 3 * 8 + 3),
        ("ForQuestionAnswering", 3 * 8 + 3),
    ],
)
def test_heads_of_bert_by_hand(name: str, head: int) -> None:
    assert read(f"Bert{name}", **SIZES, num_labels=3).params_total == BACKBONE + head


@pytest.mark.parametrize("prefix", ["Roberta", "XLMRoberta"])
@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("ForMaskedLM", MASKED_LM),
        ("ForCausalLM", MASKED_LM),
        ("Model", POOLER),
        ("ForSequenceClassification", POOLER + 3 * 8 + 3),
        ("ForMultipleChoice", POOLER + 8 + 1),
        ("ForTokenClassification", 3 * 8 + 3),
        ("ForQuestionAnswering", 3 * 8 + 3),
    ],
)
def test_heads_of_roberta_by_hand(prefix: str, name: str, head: int) -> None:
    model = read(f"{prefix}{name}", **SIZES, num_labels=3)
    assert model.params_total == BACKBONE + head
    assert model.max_seq_len == 8  # positions are counted from behind the padding token, number 1


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("ForMaskedLM", MASKED_LM),
        ("Model", 0),
        ("ForSequenceClassification", POOLER + 2 * 8 + 2),
        ("ForMultipleChoice", POOLER + 8 + 1),
        ("ForTokenClassification", 2 * 8 + 2),
        ("ForQuestionAnswering", 2 * 8 + 2),
    ],
)
def test_heads_of_distilbert_by_hand(name: str, head: int) -> None:
    sizes = {"dim": 8, "hidden_dim": 16, "n_layers": 2, "n_heads": 2, "vocab_size": 30, "max_position_embeddings": 10}
    # No types of tokens: 2 x 8 fewer than BERT.
    assert read(f"DistilBert{name}", **sizes).params_total == BACKBONE - 16 + head


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("ForMaskedLM", 64 + 8 + 30),  # a matrix and a norm without biases, the bias of the vocabulary
        ("Model", 0),
        ("ForSequenceClassification", 64 + 8 + 2 * 8 + 2),
        ("ForMultipleChoice", 64 + 8 + 8 + 1),
        ("ForTokenClassification", 64 + 8 + 2 * 8 + 2),
        ("ForQuestionAnswering", 64 + 8 + 2 * 8 + 2),
    ],
)
def test_heads_of_modernbert_by_hand(name: str, head: int) -> None:
    # Embedding 30 x 8 and a norm of 8: 248. A block: 4 x 64, three matrices 8 x 16 = 384, norms 16; the first has one
    # norm of 8 only: 648 + 656. Final norm 8.
    assert read(f"ModernBert{name}", **SIZES, pad_token_id=0).params_total == 248 + 648 + 656 + 8 + head


def test_untied_head_of_bert_has_a_table_and_a_second_bias() -> None:
    untied = read("BertForMaskedLM", **SIZES, tie_word_embeddings=False)
    assert untied.params_total == BACKBONE + MASKED_LM + 30 * 8 + 30


def test_published_sizes() -> None:
    assert read_file("bert_base_uncased_mlm").params_total == 109_514_298
    assert read_file("roberta_large").params_total == 355_412_057


def test_blocks_of_modernbert_base() -> None:
    model = read_file("modernbert_base")
    windows = [block.mixer.window for block in model.blocks]
    assert windows == [None if layer % 3 == 0 else 129 for layer in range(22)]  # itself and 64 on either side
    assert not any(block.mixer.causal for block in model.blocks)
    assert [block.num_norms for block in model.blocks] == [1] + 21 * [2]
    assert {block.norm for block in model.blocks} == {Norm.LAYER_WITHOUT_BIAS}
    assert all(block.feed_forward.gated for block in model.blocks)


def test_a_decoder_of_bert_is_causal() -> None:
    for is_decoder in (False, True):
        mixer = read("BertLMHeadModel", **SIZES, is_decoder=is_decoder).blocks[0].mixer
        assert isinstance(mixer, Attention)
        assert mixer.causal == is_decoder


def test_classes_by_name_are_counted() -> None:
    names = {str(number): f"LABEL_{number}" for number in range(5)}
    model = read("BertForTokenClassification", **SIZES, id2label=names)
    assert model.params_total == BACKBONE + 5 * 8 + 5


@pytest.mark.parametrize(
    ("name", "changes", "named"),
    [
        ("BertModel", {"num_attention_heads": 3}, "num_attention_heads = 3 does not divide hidden_size"),
        ("BertModel", {"intermediate_size": None}, "intermediate_size"),
        ("BertModel", {"add_cross_attention": True, "is_decoder": True}, "add_cross_attention"),
        ("BertModel", {"pad_token_id": 30}, "pad_token_id"),
        ("BertModel", {"hidden_act": "prelu"}, "hidden_act"),
        ("BertForSequenceClassification", {"num_labels": 2, "id2label": {"0": "a"}}, "id2label has 1 entries"),
        ("BertForSequenceClassification", {"id2label": {}}, "id2label"),
        ("RobertaModel", {"max_position_embeddings": 2}, "max_position_embeddings = 2"),
        ("ModernBertModel", {"pad_token_id": 0, "layer_types": ["full_attention"]}, "layer_types"),
        ("ModernBertModel", {"pad_token_id": 0, "num_attention_heads": 8}, "need an even one"),
        ("DistilBertForQuestionAnswering", {"num_labels": 3}, "needs 2"),
    ],
)
def test_contradictions_are_refused_by_name(name: str, changes: dict[str, Any], named: str) -> None:
    distil = {"dim": 8, "hidden_dim": 16, "n_layers": 2, "n_heads": 2} if name.startswith("Distil") else {}
    with pytest.raises(BadInputError, match=named):
        read(name, **{**SIZES, **distil, **changes})


def test_positions_that_the_class_does_not_build_are_told() -> None:
    model = read("BertModel", **SIZES, position_embedding_type="relative_key")
    assert any("position_embedding_type" in sentence for sentence in model.assumptions)
