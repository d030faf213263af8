"""DeciLM and Nemotron Super: a count of the published model by hand, small ones, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from decoder_samples import SIZES
from expert_samples import block_params, published, reader, windows

from costmodel.errors import BadInputError


def _block(group: int | None, factor: float | None, **more: Any) -> dict[str, Any]:
    """A block with heads in groups of a size, and a feed-forward network of a width; None leaves one out."""
    return {
        "attention": {"n_heads_in_group": group, "no_op": group is None, **more},
        "ffn": {"ffn_mult": factor, "no_op": factor is None},
    }


deci = reader(
    "DeciLMForCausalLM",
    {**SIZES, "num_hidden_layers": 3, "num_key_value_heads": None, "intermediate_size": None},
    block_configs=[_block(2, 1.0), _block(None, 30.0), _block(4, None)],
)


def test_each_block_has_its_own_sizes() -> None:
    # Two thirds of the width are 10, rounded up to 256: 3 x 16 x 256; of 30 times the width 320, so 512.
    # Heads in groups of 2 have 2 key and value heads, 768; in groups of 4 one, 2 x 256 + 2 x 64. A norm per part.
    model = deci()
    assert block_params(model) == [768 + 12288 + 32, 24576 + 16, 640 + 16]
    assert model.params_by_part["head"] == 160 + 16
    assert windows(deci(block_configs=[_block(2, 1.0, window_length=9)] * 3)) == [9, 9, 9]


def test_the_first_deci_gives_heads_in_a_list() -> None:
    model = deci(block_configs=..., num_key_value_heads_per_layer=[4, 2, 1], intermediate_size=24)
    assert block_params(model) == [1024 + 1152 + 32, 768 + 1152 + 32, 640 + 1152 + 32]


def test_nemotron_super_by_hand() -> None:
    model = published("llama3.3_nemotron_super_49b")
    # Width 8192, 64 heads of 128 in groups of 8. 49 blocks attend: 2 x 8192 x 8192 + 2 x 8192 x 1024, and a norm.
    attention = 49 * (2 * 8192**2 + 2 * 8192 * 1024 + 8192)
    # Widths of the networks are 2/3 x factor x 8192, up to a multiple of 256: 2816 for 0.5, 5632 for 1, 7168 for
    # 1.3125, 14336 for 2.625, 17920 for 3.28125, 28672 for 5.25; so many blocks have each.
    columns = 6 * 2816 + 8 * 5632 + 10 * 7168 + 6 * 14336 + 1 * 17920 + 49 * 28672
    networks = 3 * 8192 * columns + 80 * 8192
    tables = 2 * 128256 * 8192 + 8192
    assert model.params_total == attention + networks + tables == 49_867_145_216


@pytest.mark.parametrize(
    ("blocks", "words"),
    [
        ([_block(2, 1.0)], "block_configs has 1 entries, but num_hidden_layers is 3"),
        ([_block(3, 1.0)] * 3, r"block_configs\[0\].attention.n_heads_in_group = 3 does not divide"),
        ([_block(2, -1.0)] * 3, r"block_configs\[0\].ffn.ffn_mult is -1.0"),
        ([_block(2, 1e308)] * 3, r"block_configs\[0\].ffn.ffn_mult is 1e\+308"),
        ([_block(2, True)] * 3, r"block_configs\[0\].ffn.ffn_mult is true"),
        ([_block(None, None)] * 3, "a block needs a mixer"),
        ([_block(2, 1.0, replace_with_linear=True)] * 3, "replace_with_linear is true"),
        ([8] * 3, r"block_configs\[0\] is 8"),
        ([{"attention": {"n_heads_in_group": 2}}] * 3, r"block_configs\[0\].ffn is missing"),
        (..., "block_configs and num_key_value_heads_per_layer are missing or null"),
    ],
)
def test_what_contradicts_itself_is_refused(blocks: Any, words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        deci(block_configs=blocks)
