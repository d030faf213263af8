"""Phi: counts by hand of both classes, the norm of queries and keys, and rotated shares."""

from __future__ import annotations

from typing import Any

import pytest
from decoder_samples import ATTENTION, GATED, OUTPUT_BIAS, PLAIN, QKV_BIAS, SIZES, TABLE
from expert_samples import block_params, published, reader, windows

from costmodel.errors import BadInputError

phi = reader("PhiForCausalLM", SIZES)
phi3 = reader("Phi3ForCausalLM", SIZES)


def test_phi_by_hand() -> None:
    model = phi()
    # Biases throughout, of the network 24 + 16; one norm of 32, since halves are side by side.
    assert block_params(model) == [ATTENTION + QKV_BIAS + OUTPUT_BIAS + PLAIN + 40 + 32] * 2
    assert model.params_by_part["head"] == TABLE + 10 + 32
    # Gain and bias of 4 numbers, for queries and for keys.
    assert block_params(phi(qk_layernorm=True)) == [each + 16 for each in block_params(model)]


def test_the_norm_of_phi_has_the_width_of_an_even_split() -> None:
    with pytest.raises(BadInputError, match="head_dim is 8, but qk_layernorm needs hidden_size / num_attention_heads"):
        phi(qk_layernorm=True, head_dim=8)
    assert phi(head_dim=8).num_layers == 2


def test_phi3_by_hand() -> None:
    model = phi3()
    assert block_params(model) == [ATTENTION + GATED + 32] * 2
    assert model.params_by_part["head"] == TABLE + 16
    assert windows(phi3(sliding_window=5)) == [5, 5]


def test_a_rotated_share_needs_as_many_factors_as_pairs() -> None:
    # Half of a head of 4 dimensions is one pair.
    scaling: dict[str, Any] = {"type": "su", "short_factor": [1.0], "long_factor": [2.0]}
    assert phi3(rope_scaling=scaling, partial_rotary_factor=0.5).num_layers == 2
    with pytest.raises(BadInputError, match="short_factor"):
        phi3(rope_scaling=scaling)


@pytest.mark.parametrize("share", [0.25, 0, 2, "half", True])
def test_a_share_that_is_no_whole_pair_is_refused(share: Any) -> None:
    with pytest.raises(BadInputError, match="partial_rotary_factor"):
        phi(partial_rotary_factor=share)


def test_published_sizes() -> None:
    assert published("phi_2").params_total == 2_779_683_840
    assert published("phi_3_mini_4k").params_total == 3_821_079_552
    assert published("phi4_14b").params_total == 14_659_507_200
