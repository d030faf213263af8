"""BEiT: counts by hand, with biases of each block's own and of all blocks, and pooled either way."""

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
    "image_size": 8,
    "patch_size": 4,
    "vocab_size": 10,
}
# Patches 48 x 8 + 8 and a class token.
STEM = 392 + 8
# Four matrices 8 x 8, three with bias; 8 x 16 + 16 and 16 x 8 + 8; two norms of 16 and two scales of 8.
BLOCK = 256 + 24 + 144 + 136 + 32 + 16
NORM = 16
# Offsets -1 to 1 either way, and three of the class token, for 2 heads.
TABLE = 2 * (3 * 3 + 3)


def count(name: str, **keys: Any) -> int:
    return read(name, **{**SIZES, **keys}).params_total


def test_biases_are_each_block_s_own_or_shared() -> None:
    plain = STEM + 2 * BLOCK + NORM
    assert count("BeitModel") == plain
    assert count("BeitModel", use_relative_position_bias=True) == plain + 2 * TABLE
    assert count("BeitModel", use_shared_relative_position_bias=True) == plain + TABLE
    assert count("BeitModel", use_mask_token=True, use_absolute_position_embeddings=True) == plain + 8 + 5 * 8
    assert count("BeitModel", layer_scale_init_value=0.0) == plain - 2 * 16


def test_heads() -> None:
    body = STEM + 2 * BLOCK
    assert count("BeitForImageClassification", num_labels=3) == body + NORM + 27
    # A norm of its own, and another of the body where nothing is pooled.
    assert count("BeitForMaskedImageModeling") == body + NORM + 90
    assert count("BeitForMaskedImageModeling", use_mean_pooling=False) == body + 2 * NORM + 90


def test_a_norm_of_the_mean_sees_one_token() -> None:
    pooled, classed = (read("BeitModel", **SIZES, use_mean_pooling=mean).runs[-1] for mean in (True, False))
    assert (pooled.num_tokens, classed.num_tokens) == (1, 5)


def test_a_scale_is_a_number() -> None:
    with pytest.raises(BadInputError, match="layer_scale_init_value is 'small'"):
        count("BeitModel", layer_scale_init_value="small")
