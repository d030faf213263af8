"""MiMo-V2-Flash: counts by hand, windows, lists that the class does not read, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from expert_samples import SIZES, block_params, feed_forward_kinds, reader, windows

from costmodel.errors import BadInputError

mimo = reader(
    "MiMoV2FlashForCausalLM",
    {**SIZES, "num_key_value_heads": 1},
    head_dim=4,
    v_head_dim=2,
    moe_intermediate_size=3,
    n_routed_experts=4,
    partial_rotary_factor=0.5,
)


def test_by_hand() -> None:
    # Queries 16 x 16, output 8 x 16. The first block: keys 16 x 4, values 16 x 2; a dense network 3 x 16 x 8. The
    # second has a window, so twice the keys and values, and sinks 4; 4 experts of 3 x 16 x 3, router 64. Norms 32.
    full, sliding = 256 + 128 + 64 + 32, 256 + 128 + 128 + 64 + 4
    assert block_params(mimo()) == [full + 384 + 32, sliding + 576 + 64 + 32]
    # Biases of queries 16, keys and values 4 + 2 or twice that.
    biased = [full + 22 + 384 + 32, sliding + 28 + 576 + 64 + 32]
    assert block_params(mimo(attention_bias=True)) == biased


def test_the_first_block_and_every_sixth_see_the_whole_sequence() -> None:
    assert windows(mimo(num_hidden_layers=7)) == [None, 129, 129, 129, 129, None, 129]
    assert windows(mimo(sliding_window=9)) == [None, 9]
    # A size without the query itself, which goes before.
    assert windows(mimo(sliding_window=9, sliding_window_size=20)) == [None, 21]
    assert feed_forward_kinds(mimo(mlp_layer_types=["sparse", "dense"])) == ["moe", "mlp"]


def test_lists_that_the_class_does_not_read_are_told_where_they_differ() -> None:
    assert mimo(sliding_window=9, hybrid_layer_pattern=[0, 1], moe_layer_freq=[0, 1]).assumptions == ()
    for key in ("hybrid_layer_pattern", "moe_layer_freq"):
        (sentence,) = mimo(sliding_window=9, **{key: [1, 1]}).assumptions
        assert key in sentence


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_routed_experts": ...}, "n_routed_experts is missing"),
        ({"moe_intermediate_size": None}, "moe_intermediate_size is null"),
        ({"num_key_value_heads": 4}, "num_attention_heads 4 is not a multiple of num_key_value_heads 8"),
        ({"layer_types": ["full_attention"] * 3}, "layer_types has 3 entries"),
        ({"sliding_window": None}, "sliding_window is null, but block 1 attends over a window"),
        ({"v_head_dim": 0}, "v_head_dim is 0"),
    ],
)
def test_contradictions_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        mimo(**changes)
