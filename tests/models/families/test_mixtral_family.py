"""Mixtral, Phi-MoE, OLMoE and Granite MoE: counts by hand, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from expert_samples import SIZES, block_params, feed_forward_kinds, published, reader, windows

from costmodel.errors import BadInputError
from costmodel.spec import Norm

# Attention 768 (see SIZES); 3 experts of 3 x 16 x 8 = 1152 and a router of 3 x 16 = 48: 1200; two norms 32.
mixtral = reader("MixtralForCausalLM", SIZES, num_local_experts=3)
phimoe = reader("PhimoeForCausalLM", SIZES, num_local_experts=3)
olmoe = reader("OlmoeForCausalLM", SIZES, num_experts=3)
granite = reader("GraniteMoeForCausalLM", SIZES, num_local_experts=3)
granite_shared = reader("GraniteMoeSharedForCausalLM", SIZES, num_local_experts=3)


def test_mixtral_by_hand() -> None:
    model = mixtral()
    assert block_params(model) == [2000, 2000]
    # Embedding 160; blocks 4000; head 160, norm 16. A token meets 2 of 3 experts, which have 384 each.
    assert model.params_total == 160 + 4000 + 176
    assert model.params_active == model.params_total - 2 * 384
    assert windows(model) == [None, None]
    assert windows(mixtral(sliding_window=5)) == [5, 5]


def test_experts_may_have_the_name_that_the_class_maps() -> None:
    assert mixtral(num_local_experts=..., num_experts=3) == mixtral()
    with pytest.raises(BadInputError, match="num_local_experts is 3, but num_experts is 4"):
        mixtral(num_experts=4)


def test_phi_moe_by_hand() -> None:
    # Norms have biases, so 64 instead of 32. Biases of attention 16 + 8 + 8 + 16 = 48; bias of the head 10.
    assert block_params(phimoe()) == [768 + 1200 + 64] * 2
    biased = phimoe(attention_bias=True, lm_head_bias=True)
    assert block_params(biased) == [768 + 48 + 1200 + 64] * 2
    assert biased.params_by_part["head"] == 160 + 10 + 32


def test_the_router_of_phi_moe_picks_two() -> None:
    model = phimoe(num_experts_per_tok=1)
    assert model.params_active == phimoe().params_active
    (sentence,) = model.assumptions
    assert "num_experts_per_tok is 1" in sentence


def test_olmoe_by_hand() -> None:
    # Queries are normalised over 16 numbers, keys over 8.
    assert block_params(olmoe()) == [768 + 24 + 1200 + 32] * 2


def test_granite_by_hand() -> None:
    assert block_params(granite()) == block_params(granite_shared()) == [2000, 2000]
    # A shared expert of 3 x 16 x 6.
    assert block_params(granite_shared(shared_intermediate_size=6)) == [2288, 2288]


def test_phi_3_5_moe_as_published() -> None:
    model = published("phi_3_5_moe")
    assert set(feed_forward_kinds(model)) == {"moe"}
    assert set(windows(model)) == {131072}
    assert {block.norm for block in model.blocks} == {Norm.LAYER}


@pytest.mark.parametrize(
    ("read", "changes", "message"),
    [
        (mixtral, {"num_local_experts": ...}, "num_local_experts is missing"),
        (mixtral, {"num_experts_per_tok": None}, "num_experts_per_tok is null"),
        (mixtral, {"num_experts_per_tok": 4}, "num_experts_per_tok 4 is above num_local_experts 3"),
        (mixtral, {"num_key_value_heads": 3}, "num_attention_heads 4 is not a multiple of num_key_value_heads 3"),
        (mixtral, {"num_attention_heads": 5, "num_key_value_heads": 5}, "does not divide hidden_size"),
        (mixtral, {"sliding_window": 0}, "sliding_window is 0"),
        (phimoe, {"num_experts_per_tok": ...}, "num_experts_per_tok is missing"),
        (phimoe, {"rope_scaling": {"type": "linear", "factor": 2}}, "short_mscale is null"),
        (olmoe, {"head_dim": 8}, "needs hidden_size / num_attention_heads = 4"),
        (granite_shared, {"shared_intermediate_size": -1}, "shared_intermediate_size is -1"),
    ],
)
def test_contradictions_are_refused(read: Any, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        read(**changes)
