"""GPT-NeoX: a count by hand, halves side by side, and the share of a head that is rotated."""

from __future__ import annotations

from typing import Any

import pytest
from decoder_samples import PLAIN, SIZES, TABLE
from expert_samples import block_params, published, reader

from costmodel.errors import BadInputError

# It has one head for keys and values per head of queries, whatever other keys say.
SPLIT = {**SIZES, "num_attention_heads": 2}
neox = reader("GPTNeoXForCausalLM", SPLIT)


def test_gpt_neox_by_hand() -> None:
    model = neox()
    # Four matrices 16 x 16 with biases 1088; biases of the network 24 + 16; two norms of 32.
    assert block_params(model) == [1088 + PLAIN + 40 + 64] * 2
    assert model.params_by_part["head"] == TABLE + 32
    assert neox(tie_word_embeddings=True).params_by_part["head"] == 32
    assert block_params(neox(attention_bias=False)) == [1024 + PLAIN + 40 + 64] * 2


def test_halves_are_side_by_side_unless_told_otherwise() -> None:
    assert all(block.parallel for block in neox().blocks)
    assert not any(block.parallel for block in neox(use_parallel_residual=False).blocks)


@pytest.mark.parametrize("share", [0, 1.5, "0.25", True, 0.4])
def test_the_rotated_share_must_be_whole_pairs(share: Any) -> None:
    with pytest.raises(BadInputError, match="rotary_pct"):
        neox(rotary_pct=share)


def test_pythia_has_its_published_size() -> None:
    assert published("pythia_12b").params_total == 11_846_072_320
