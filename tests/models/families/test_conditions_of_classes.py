"""Conditions that a class sets beside its sizes: transformers raises where they do not hold."""

from __future__ import annotations

from typing import Any

import pytest
from reading import read_file

from costmodel.errors import BadInputError


@pytest.mark.parametrize(
    ("file", "changes", "named"),
    [
        ("arcee_small", {"hidden_size": 65}, r"does not divide hidden_size = 65"),
        ("cwm_32b", {"hidden_size": 6145}, r"does not divide hidden_size = 6145"),
        ("gemma_2_27b", {"query_pre_attn_scalar": 0}, r"query_pre_attn_scalar is 0, but must be a number from 1"),
        ("gemma_3_1b", {"query_pre_attn_scalar": 0}, r"query_pre_attn_scalar is 0, but must be a number from 1"),
        ("glm_4_9b_0414", {"pad_token_id": 151_552}, r"pad_token_id is 151552, but must be .* below vocab_size"),
        ("smollm3_3b", {"pad_token_id": 128_256}, r"pad_token_id is 128256, but must be .* below vocab_size"),
    ],
)
def test_conditions_are_refused_by_name(file: str, changes: dict[str, Any], named: str) -> None:
    with pytest.raises(BadInputError, match=named):
        read_file(file, **changes)
