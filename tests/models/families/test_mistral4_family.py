"""Mistral 4: a count by hand, and the blocks without experts."""

from __future__ import annotations

import pytest
from expert_samples import LATENT_SIZES, block_params, feed_forward_kinds, published, reader

from costmodel.errors import BadInputError

mistral4 = reader("Mistral4ForCausalLM", LATENT_SIZES)


def test_mistral4_by_hand() -> None:
    model = mistral4()
    # Attention 477 and experts 784 (see LATENT_SIZES), two norms of 16.
    assert block_params(model) == [477 + 784 + 32] * 2
    # Two of four experts of 3 x 16 x 3 are left out.
    assert model.params_active == model.params_total - 2 * 2 * 144
    assert model.params_by_part["head"] == 160 + 16


def test_first_blocks_may_be_dense() -> None:
    model = mistral4(first_k_dense_replace=1)
    assert feed_forward_kinds(model) == ["mlp", "moe"]
    assert block_params(model)[0] == 477 + 3 * 16 * 8 + 32


def test_experts_are_never_taken_for_granted() -> None:
    for key in ("n_routed_experts", "num_experts_per_tok", "moe_intermediate_size"):
        with pytest.raises(BadInputError, match=f"{key} is missing"):
            mistral4(**{key: ...})


def test_a_small_one_in_a_file() -> None:
    assert published("mistral4_small").num_layers == 4
