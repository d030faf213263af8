"""OPT: counts by hand, narrow rows of tokens, and norms before or behind."""

from __future__ import annotations

from typing import Any

import pytest
from expert_samples import block_params, published, reader

from costmodel.errors import BadInputError

SIZES: dict[str, Any] = {
    "hidden_size": 16,
    "ffn_dim": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 6,
    "vocab_size": 10,
}
opt = reader("OPTForCausalLM", SIZES)


def test_opt_by_hand() -> None:
    model = opt()
    # Attention 4 x (256 + 16) = 1088; 16 x 24 + 24 and 24 x 16 + 16 = 808; two norms of 32.
    assert block_params(model) == [1088 + 808 + 64] * 2
    # 10 tokens, and 6 + 2 positions; the head has a norm and the table of the tokens.
    assert model.params_by_part == {"embedding": 288, "blocks": 3920, "head": 32}
    assert block_params(opt(enable_bias=False)) == [1024 + 768 + 64] * 2
    assert block_params(opt(layer_norm_elementwise_affine=False)) == [1088 + 808] * 2


def test_narrow_rows_are_widened_and_narrowed() -> None:
    model = opt(word_embed_proj_dim=4)
    # 10 x 4, a projection 4 x 16, 8 positions of 16; behind the blocks a projection 16 x 4 and the norm.
    assert model.params_by_part == {"embedding": 40 + 64 + 128, "blocks": 3920, "head": 64 + 32}
    assert opt(word_embed_proj_dim=16).runs == opt(word_embed_proj_dim=None).runs == opt().runs


def test_norms_behind_each_half_need_none_at_the_end() -> None:
    assert opt(do_layer_norm_before=False).params_by_part["head"] == 0
    assert opt(_remove_final_layer_norm=True).params_by_part["head"] == 0


@pytest.mark.parametrize("key", ["hidden_size", "ffn_dim", "num_hidden_layers", "num_attention_heads", "vocab_size"])
def test_sizes_never_default(key: str) -> None:
    with pytest.raises(BadInputError, match=key):
        opt(**{key: ...})


def test_opt_350m_has_its_published_size() -> None:
    model = published("opt_350m")
    assert model.params_total == 331_196_416
    assert model.head is not None
    assert model.head.norm is None
