"""OLMo 1 to 3: counts by hand, the place of norms, and the windows of the third."""

from __future__ import annotations

import pytest
from decoder_samples import ATTENTION, GATED, OUTPUT_BIAS, QKV_BIAS, SIZES, TABLE
from expert_samples import block_params, published, reader, windows

from costmodel.errors import BadInputError

olmo = reader("OlmoForCausalLM", SIZES)
olmo2 = reader("Olmo2ForCausalLM", SIZES)
olmo3 = reader("Olmo3ForCausalLM", SIZES, num_hidden_layers=4)


def test_norms_of_the_first_learn_nothing() -> None:
    model = olmo()
    assert block_params(model) == [ATTENTION + GATED] * 2
    assert model.params_by_part["head"] == TABLE
    assert block_params(olmo(attention_bias=True)) == [ATTENTION + QKV_BIAS + OUTPUT_BIAS + GATED] * 2


def test_the_second_normalises_queries_and_keys() -> None:
    # Over 16 numbers of the queries and 8 of the keys; two norms of 16 behind the halves.
    assert block_params(olmo2()) == [ATTENTION + 24 + GATED + 32] * 2


def test_every_fourth_block_of_the_third_sees_everything() -> None:
    assert windows(olmo3()) == [4096, 4096, 4096, None]
    assert block_params(olmo3()) == block_params(olmo2()) * 2
    types = ["full_attention", "full_attention", "sliding_attention", "full_attention"]
    assert windows(olmo3(layer_types=types, sliding_window=9)) == [None, None, 9, None]
    with pytest.raises(BadInputError, match="layer_types has 1 entries, but num_hidden_layers is 4"):
        olmo3(layer_types=types[:1])
    with pytest.raises(BadInputError, match=r"layer_types\[0\] is 'near'"):
        olmo3(layer_types=["near", *types[1:]])


def test_published_sizes() -> None:
    assert published("olmo_7b").params_total == 6_888_095_744
    assert published("olmo_2_13b").params_total == 13_716_198_400
    assert windows(published("olmo_3_7b")) == [4096, 4096, 4096, None] * 8
