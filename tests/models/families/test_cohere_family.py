"""Command R: counts by hand, norms of heads, and the windows of the second."""

from __future__ import annotations

import pytest
from decoder_samples import ATTENTION, GATED, OUTPUT_BIAS, QKV_BIAS, SIZES
from expert_samples import block_params, published, reader, windows

from costmodel.errors import BadInputError

cohere = reader("CohereForCausalLM", SIZES)
cohere2 = reader("Cohere2ForCausalLM", SIZES, num_hidden_layers=4)


def test_cohere_by_hand() -> None:
    model = cohere()
    # One norm without bias for both halves.
    assert block_params(model) == [ATTENTION + GATED + 16] * 2
    assert all(block.parallel for block in model.blocks)
    assert model.params_by_part["head"] == 16  # the table is tied
    assert block_params(cohere(attention_bias=True)) == [ATTENTION + QKV_BIAS + OUTPUT_BIAS + GATED + 16] * 2
    # A gain for each dimension of 4 query heads and 2 key heads.
    assert block_params(cohere(use_qk_norm=True)) == [ATTENTION + 24 + GATED + 16] * 2


def test_every_fourth_block_of_the_second_sees_everything() -> None:
    assert windows(cohere2()) == [4096, 4096, 4096, None]
    assert windows(cohere2(sliding_window_pattern=2, sliding_window=9)) == [9, None, 9, None]
    with pytest.raises(BadInputError, match="sliding_window_pattern is 'LLLG'"):
        cohere2(sliding_window_pattern="LLLG")


def test_published_sizes() -> None:
    assert published("command_r_v01").params_total == 34_980_831_232
    assert published("command_r7b").params_total == 8_028_033_024
