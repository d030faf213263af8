"""DeepSeek-V2 to V3.2: counts by hand, prediction modules, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from expert_samples import LATENT_SIZES, block_params, feed_forward_kinds, published, reader

from costmodel.errors import BadInputError
from costmodel.spec import LatentAttention, Moe

# Latent attention 477, experts 784 (see LATENT_SIZES); a dense network 3 x 16 x 8 = 384; two norms 32.
DENSE, SPARSE = 477 + 384 + 32, 477 + 784 + 32
INDEX = 36 + 48 + 32 + 6
"""Queries 6 x 2 x 3 out of their latent, key 16 x 3, weights of heads 16 x 2, LayerNorm 2 x 3."""

v2 = reader("DeepseekV2ForCausalLM", LATENT_SIZES, num_hidden_layers=3)
v3 = reader("DeepseekV3ForCausalLM", LATENT_SIZES, num_hidden_layers=3, first_k_dense_replace=1)
v32 = reader(
    "DeepseekV32ForCausalLM",
    LATENT_SIZES,
    num_hidden_layers=3,
    first_k_dense_replace=1,
    index_n_heads=2,
    index_head_dim=3,
    index_topk=7,
)


def test_v3_by_hand() -> None:
    model = v3()
    assert block_params(model) == [DENSE, SPARSE, SPARSE]
    # A token meets 2 of 4 experts, which have 3 x 16 x 3 = 144 each.
    assert model.params_active == model.params_total - 2 * 2 * 144
    # Biases of the down-projections 6 and 7, and of the output 16.
    assert block_params(v3(attention_bias=True)) == [DENSE + 29, SPARSE + 29, SPARSE + 29]


def test_queries_without_a_latent() -> None:
    # 16 x 2 x 5 = 160 instead of 96 + 6 + 60.
    assert block_params(v3(q_lora_rank=None)) == [DENSE - 2, SPARSE - 2, SPARSE - 2]


def test_prediction_modules_stand_apart() -> None:
    # Two norms 32, projection 32 x 16, a block with experts, final norm 16.
    model = v3(num_nextn_predict_layers=2)
    assert model.params_mtp == 2 * (32 + 512 + SPARSE + 16)
    assert model.params_total == v3().params_total
    assert v3().params_mtp == v3(num_nextn_predict_layers=0).params_mtp == 0


def test_v2_by_hand() -> None:
    # Two shared experts are one of 3 x 16 x 6 = 288. Biases of networks: 6 + 6 + 16 shared, 8 + 8 + 16 dense.
    two_shared = SPARSE + 144
    assert block_params(v2(n_shared_experts=2)) == [two_shared] * 3
    biased = v2(n_shared_experts=2, mlp_bias=True, first_k_dense_replace=1)
    assert block_params(biased) == [DENSE + 32, two_shared + 28, two_shared + 28]


def test_v32_by_hand() -> None:
    model = v32()
    assert block_params(model) == [DENSE + INDEX, SPARSE + INDEX, SPARSE + INDEX]
    mixer = model.blocks[0].mixer
    assert isinstance(mixer, LatentAttention)
    assert mixer.index_topk == 7
    assert block_params(v32(mlp_layer_types=["sparse", "dense", "sparse"]))[1] == DENSE + INDEX


def test_v32_takes_experts_by_three_names() -> None:
    for name in ("num_experts", "num_local_experts"):
        assert v32(n_routed_experts=..., **{name: 4}).params_total == v32().params_total


def test_a_key_that_the_class_does_not_read_is_told() -> None:
    assert any("moe_layer_freq is 2" in sentence for sentence in v3(moe_layer_freq=2).assumptions)
    assert not any("moe_layer_freq" in sentence for sentence in v3(moe_layer_freq=1).assumptions)


def test_kimi_k2_is_a_deepseek_v3() -> None:
    model = v3(architectures=None, model_type="kimi_k2")
    assert model.architecture == "DeepseekV3ForCausalLM"
    assert model.runs == v3().runs


def test_deepseek_v2_as_published() -> None:
    model = published("deepseek_v2")
    assert feed_forward_kinds(model) == ["mlp"] + ["moe"] * 59
    experts = model.blocks[-1].feed_forward
    assert isinstance(experts, Moe)
    assert experts.shared is not None
    assert (experts.num_experts, experts.experts_per_token, experts.shared.ffn_hidden) == (160, 6, 2 * 1536)


@pytest.mark.parametrize(
    ("read", "changes", "message"),
    [
        (v3, {"n_routed_experts": ...}, "n_routed_experts is missing"),
        (v3, {"moe_intermediate_size": None}, "moe_intermediate_size is null"),
        (v3, {"n_group": 3}, "n_group = 3 does not divide n_routed_experts = 4"),
        (v3, {"n_group": 2, "topk_group": 3}, "topk_group is 3, but n_group is only 2"),
        (v3, {"qk_head_dim": 6}, r"qk_nope_head_dim \+ qk_rope_head_dim = 5"),
        (v3, {"num_key_value_heads": 4}, "num_key_value_heads = 4 does not divide num_attention_heads = 2"),
        (v3, {"qk_rope_head_dim": 3}, "even number"),
        (v3, {"num_nextn_predict_layers": -1}, "num_nextn_predict_layers is -1"),
        (v2, {"num_attention_heads": 3, "num_key_value_heads": 3}, "does not divide hidden_size"),
        (v2, {"n_shared_experts": 0}, "n_shared_experts is 0"),
        (v32, {"q_lora_rank": None}, "needs a latent of queries"),
        (v32, {"layer_types": ["full_attention"] * 3}, "must be one of indexed_attention"),
        (v32, {"mlp_layer_types": ["dense"] * 2}, "mlp_layer_types has 2 entries"),
    ],
)
def test_contradictions_are_refused(read: Any, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        read(**changes)
