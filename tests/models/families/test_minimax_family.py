"""MiniMax-01 and M2: counts by hand, kinds of blocks, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from expert_samples import SIZES, block_params, mixer_kinds, published, reader

from costmodel.errors import BadInputError

# Attention 768 (see SIZES); 3 experts of 3 x 16 x 8 = 1152 and a router of 48: 1200; two norms 32.
minimax = reader("MiniMaxForCausalLM", SIZES, num_local_experts=3)
minimax_m2 = reader("MiniMaxM2ForCausalLM", SIZES, num_local_experts=3, head_dim=4)


def test_minimax_by_hand() -> None:
    # Lightning attention: queries, keys, values, gate and output of 16 x 16 each, a norm of 16.
    assert block_params(minimax()) == [768 + 1200 + 32, 5 * 256 + 16 + 1200 + 32]
    assert mixer_kinds(minimax(layer_types=["linear_attention"] * 2)) == ["lightning_attention"] * 2


def test_minimax_m2_by_hand() -> None:
    # Norms of 16 for queries and 8 for keys.
    assert block_params(minimax_m2()) == [768 + 24 + 1200 + 32] * 2
    assert minimax_m2(num_local_experts=..., num_experts=3) == minimax_m2()


def test_minimax_text_01_as_published() -> None:
    kinds = mixer_kinds(published("minimax_text_01"))
    assert [layer for layer, kind in enumerate(kinds) if kind == "attention"] == list(range(7, 80, 8))


def test_a_list_that_the_class_does_not_read_is_told() -> None:
    assert any("attn_type_list" in sentence for sentence in minimax(attn_type_list=[0, 1]).assumptions)


@pytest.mark.parametrize(
    ("read", "changes", "message"),
    [
        (minimax, {"num_local_experts": ...}, "num_local_experts is missing"),
        (minimax, {"layer_types": ["linear_attention"] * 3}, "layer_types has 3 entries"),
        (minimax, {"layer_types": ["sliding_attention"] * 2}, "must be one of full_attention, linear_attention"),
        (minimax, {"block_size": 0}, "block_size is 0"),
        (minimax_m2, {"num_key_value_heads": 3}, "num_attention_heads 4 is not a multiple of num_key_value_heads 3"),
        (minimax_m2, {"head_dim": 3}, "even number"),
    ],
)
def test_contradictions_are_refused(read: Any, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        read(**changes)
