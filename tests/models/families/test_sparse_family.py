"""dots.llm1, FlexOlmo, Solar Open, ERNIE 4.5, K-EXAONE and Hunyuan: counts by hand, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from expert_samples import SIZES, block_params, feed_forward_kinds, published, reader, windows

from costmodel.errors import BadInputError

ROUTED = {"n_routed_experts": 4, "n_shared_experts": 1, "moe_intermediate_size": 3}
# Attention 768 (see SIZES), norms of 4 each for queries and keys 8. Experts of 3 x 16 x 3: 4 of them 576, router 64,
# shared 144: 784. A dense network 3 x 16 x 8 = 384. Two norms 32.
dots = reader("Dots1ForCausalLM", SIZES, **ROUTED)
solar = reader("SolarOpenForCausalLM", SIZES, **ROUTED, head_dim=4)
exaone = reader("ExaoneMoeForCausalLM", SIZES, num_experts=4, num_shared_experts=1, moe_intermediate_size=3)
ernie = reader(
    "Ernie4_5_MoeForCausalLM",
    SIZES,
    num_experts_per_tok=...,
    moe_k=2,
    moe_num_experts=4,
    moe_num_shared_experts=1,
    moe_intermediate_size=3,
)
flex_olmo = reader("FlexOlmoForCausalLM", SIZES, num_experts=3)
hunyuan = reader("HunYuanMoEV1ForCausalLM", SIZES, num_experts_per_tok=..., moe_topk=2, num_experts=3, head_dim=4)


def test_dots_by_hand() -> None:
    assert block_params(dots(first_k_dense_replace=1)) == [768 + 8 + 384 + 32, 768 + 8 + 784 + 32]
    assert windows(dots(sliding_window=5, max_window_layers=1)) == [None, 5]
    assert windows(dots(sliding_window=None, max_window_layers=1)) == [None, None]


def test_solar_open_by_hand() -> None:
    # Biases of queries, keys and values 16 + 8 + 8.
    assert block_params(solar()) == [768 + 784 + 32] * 2
    assert block_params(solar(attention_bias=True)) == [768 + 32 + 784 + 32] * 2


def test_k_exaone_by_hand() -> None:
    assert block_params(exaone()) == [768 + 8 + 384 + 32, 768 + 8 + 784 + 32]
    assert windows(exaone(num_hidden_layers=5, sliding_window=6)) == [6, 6, 6, None, 6]
    # Prediction: two norms 32, projection 32 x 16, a block with experts, final norm 16.
    assert exaone(num_nextn_predict_layers=1).params_mtp == 32 + 512 + (768 + 8 + 784 + 32) + 16


def test_ernie_by_hand() -> None:
    # One number for each expert balances the load.
    dense, sparse = 768 + 384 + 32, 768 + 784 + 4 + 32
    assert block_params(ernie()) == [dense, sparse]
    assert block_params(ernie(num_hidden_layers=4, moe_layer_end_index=2)) == [dense, sparse, sparse, dense]
    interval = ernie(num_hidden_layers=4, moe_layer_start_index=0, moe_layer_interval=2)
    assert block_params(interval) == [dense, sparse, dense, sparse]
    # Biases: attention 16 + 8 + 8 + 16, dense 8 + 8 + 16, shared 3 + 3 + 16, head 10.
    biased = ernie(use_bias=True, tie_word_embeddings=False)
    assert block_params(biased) == [dense + 48 + 32, sparse + 48 + 22]
    assert biased.params_by_part["head"] == 160 + 10 + 16


def test_flex_olmo_and_hunyuan_by_hand() -> None:
    # 3 experts of 3 x 16 x 8 = 1152, router 48; norms over all queries and keys 24; the shared network 384.
    assert block_params(flex_olmo()) == [768 + 24 + 1200 + 32] * 2
    assert block_params(hunyuan()) == [768 + 8 + 1200 + 384 + 32] * 2


def test_hunyuan_may_pick_more_experts_in_one_block_than_in_another() -> None:
    one, two = hunyuan(moe_topk=[1, 2]).blocks
    assert two.num_active_params() == one.num_active_params() + 384
    assert hunyuan(moe_topk=[2, 2]) == hunyuan(moe_topk=..., num_experts_per_tok=2) == hunyuan()


@pytest.mark.parametrize(
    ("name", "dense", "sparse"),
    [("dots_llm1", 1, 61), ("ernie_4_5_21b_a3b", 1, 27), ("exaone_moe_236b", 1, 47), ("hunyuan_a13b", 0, 32)],
)
def test_blocks_as_published(name: str, dense: int, sparse: int) -> None:
    assert feed_forward_kinds(published(name)) == ["mlp"] * dense + ["moe"] * sparse


@pytest.mark.parametrize(
    ("read", "changes", "message"),
    [
        (dots, {"n_shared_experts": ...}, "n_shared_experts is missing"),
        (dots, {"layer_types": ["sliding_attention"] * 2, "sliding_window": None}, "sliding_window is null"),
        (solar, {"n_group": 3}, "n_group = 3 does not divide n_routed_experts = 4"),
        (exaone, {"sliding_window_pattern": 0}, "sliding_window_pattern is 0"),
        (ernie, {"moe_num_experts": ...}, "moe_num_experts is missing"),
        (ernie, {"moe_layer_start_index": [1, 2]}, r"moe_layer_start_index is \[1, 2\]"),
        (flex_olmo, {"num_local_experts": 4}, "both mean the same"),
        (hunyuan, {"head_dim": ...}, "head_dim is missing"),
        (hunyuan, {"moe_topk": [2]}, "moe_topk has 1 entries"),
        (hunyuan, {"moe_topk": [2, "a"]}, "moe_topk is 'a'"),
    ],
)
def test_contradictions_are_refused(read: Any, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        read(**changes)
