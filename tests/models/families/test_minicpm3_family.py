"""MiniCPM 3: a count by hand, and what is refused."""

from __future__ import annotations

import pytest
from decoder_samples import GATED, SIZES
from expert_samples import block_params, mixer_kinds, published, reader

from costmodel.errors import BadInputError

LATENT = {"q_lora_rank": 6, "kv_lora_rank": 5, "qk_nope_head_dim": 3, "qk_rope_head_dim": 2, "v_head_dim": 4}
minicpm3 = reader("MiniCPM3ForCausalLM", {**SIZES, **LATENT})

# Queries 16 x 6 down, norm 6, 6 x 4 x 5 up; keys and values 16 x 7 down, norm 5, 5 x 4 x 7 up; output 4 x 4 x 16.
ATTENTION = 96 + 6 + 120 + 112 + 5 + 140 + 256


def test_minicpm3_by_hand() -> None:
    model = minicpm3()
    assert block_params(model) == [ATTENTION + GATED + 32] * 2
    assert mixer_kinds(model) == ["latent_attention"] * 2
    assert model.params_by_part["head"] == 16  # the table is tied
    # Biases of 6, 7 and 16.
    assert block_params(minicpm3(attention_bias=True)) == [ATTENTION + 29 + GATED + 32] * 2
    # Without a latent of the queries: 16 x 4 x 5.
    assert block_params(minicpm3(q_lora_rank=None)) == [ATTENTION - 222 + 320 + GATED + 32] * 2
    # Values as wide as an even split of the model: 4.
    assert minicpm3(v_head_dim=None).runs == model.runs


def test_rotary_dimensions_come_in_pairs() -> None:
    with pytest.raises(BadInputError, match="of the 3 dimensions of a head"):
        minicpm3(qk_rope_head_dim=3)


def test_minicpm3_4b_is_read() -> None:
    assert published("minicpm3_4b").num_layers == 62
