"""ELECTRA: counts by hand, with rows of tokens narrower than the model and as wide."""

from __future__ import annotations

from typing import Any

import pytest
from reading import read

from costmodel.errors import BadInputError

SIZES: dict[str, Any] = {
    "hidden_size": 8,
    "intermediate_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": 6,
    "vocab_size": 10,
}
# Four matrices 8 x 8 with bias, 8 x 16 + 16, 16 x 8 + 8, two norms of 16.
BLOCKS = 2 * (4 * 72 + 144 + 136 + 32)
# Rows of 4: 10 tokens, 6 positions, 2 types and a norm of 2; widened by 4 x 8 + 8.
NARROW = 4 * (10 + 6 + 2 + 2) + 40
WIDE = 8 * (10 + 6 + 2 + 2)


def count(name: str, **keys: Any) -> int:
    return read(name, **{**SIZES, "embedding_size": 4, **keys}).params_total


def test_rows_narrower_than_the_model() -> None:
    assert count("ElectraModel") == NARROW + BLOCKS
    # Narrowed by 8 x 4 + 4, a norm of 8, a bias for each token.
    assert count("ElectraForMaskedLM") == count("ElectraForCausalLM") == NARROW + BLOCKS + 36 + 8 + 10
    assert count("ElectraForMaskedLM", tie_word_embeddings=False) == NARROW + BLOCKS + 36 + 8 + 10 + 40


def test_rows_as_wide_as_the_model() -> None:
    assert count("ElectraModel", embedding_size=8) == WIDE + BLOCKS
    assert count("ElectraForMaskedLM", embedding_size=8) == WIDE + BLOCKS + 72 + 16 + 10


@pytest.mark.parametrize(
    ("name", "head"),
    [
        # A square matrix and one number, of every token.
        ("ElectraForPreTraining", 72 + 9),
        ("ElectraForSequenceClassification", 72 + 27),
        ("ElectraForTokenClassification", 27),
        ("ElectraForQuestionAnswering", 27),
        ("ElectraForMultipleChoice", 72 + 9),
    ],
)
def test_heads(name: str, head: int) -> None:
    assert count(name, num_labels=3) == NARROW + BLOCKS + head


def test_a_summary_may_go_without_its_matrix() -> None:
    assert count("ElectraForMultipleChoice", summary_use_proj=False) == NARROW + BLOCKS + 9


def test_heads_divide() -> None:
    with pytest.raises(BadInputError, match="num_attention_heads = 3 does not divide hidden_size = 8"):
        count("ElectraModel", num_attention_heads=3)
