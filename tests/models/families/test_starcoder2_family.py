"""StarCoder2: a count by hand, its window, and what is refused."""

from __future__ import annotations

import pytest
from decoder_samples import ATTENTION, OUTPUT_BIAS, PLAIN, QKV_BIAS, SIZES
from expert_samples import block_params, published, reader, windows

from costmodel.errors import BadInputError

starcoder2 = reader("Starcoder2ForCausalLM", SIZES)


def test_starcoder2_by_hand() -> None:
    model = starcoder2()
    # Biases of the network 24 + 16; two norms of 32.
    assert block_params(model) == [ATTENTION + QKV_BIAS + OUTPUT_BIAS + PLAIN + 40 + 64] * 2
    assert model.params_by_part["head"] == 32  # the table is tied
    assert block_params(starcoder2(use_bias=False)) == [ATTENTION + PLAIN + 64] * 2
    assert windows(starcoder2(sliding_window=5)) == [5, 5]


def test_key_and_value_heads_must_divide_the_heads() -> None:
    with pytest.raises(BadInputError, match="num_attention_heads 4 is not a multiple of num_key_value_heads 3"):
        starcoder2(num_key_value_heads=3)


def test_starcoder2_3b_has_its_published_size() -> None:
    model = published("starcoder2_3b")
    assert model.params_total == 3_030_371_328
    assert windows(model) == [4096] * 30
