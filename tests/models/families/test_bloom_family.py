"""BLOOM: a count by hand, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from expert_samples import block_params, published, reader

from costmodel.errors import BadInputError

SIZES: dict[str, Any] = {"hidden_size": 16, "n_layer": 2, "n_head": 4, "vocab_size": 10}
bloom = reader("BloomForCausalLM", SIZES)


def test_bloom_by_hand() -> None:
    model = bloom()
    # Attention 4 x (256 + 16) = 1088; 16 x 64 + 64 and 64 x 16 + 16 = 2128; two norms of 32.
    assert block_params(model) == [1088 + 2128 + 64] * 2
    # A norm behind the table; the head has a norm and the table of the tokens.
    assert model.params_by_part == {"embedding": 160 + 32, "blocks": 6560, "head": 32}
    assert model.max_seq_len is None


def test_two_names_of_one_size_must_agree() -> None:
    assert bloom(n_embed=16) == bloom(hidden_size=..., n_embed=16) == bloom()
    with pytest.raises(BadInputError, match="hidden_size is 16, but n_embed is 32"):
        bloom(n_embed=32)


@pytest.mark.parametrize(("key", "value"), [("n_head", 3), ("n_head", ...), ("n_layer", None), ("hidden_size", 16.0)])
def test_sizes_that_do_not_fit_are_refused(key: str, value: Any) -> None:
    with pytest.raises(BadInputError, match=key):
        bloom(**{key: value})


def test_bloom_has_its_published_size() -> None:
    assert published("bloom_176b").params_total == 176_247_271_424
