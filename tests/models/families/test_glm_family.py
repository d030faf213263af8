"""GLM-4 to GLM-5: counts by hand, which blocks have an index of their own, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from expert_samples import LATENT_SIZES, SIZES, block_params, feed_forward_kinds, published, reader

from costmodel.errors import BadInputError
from costmodel.spec import LatentAttention

EXPERTS = {"n_routed_experts": 4, "n_shared_experts": 1, "moe_intermediate_size": 3}
# Experts 784, latent attention 477 (see LATENT_SIZES); a dense network 3 x 16 x 8 = 384; two norms 32.
DENSE, SPARSE = 477 + 384 + 32, 477 + 784 + 32
INDEX = 36 + 48 + 32 + 6
"""Queries 6 x 2 x 3 out of their latent, key 16 x 3, weights of heads 16 x 2, LayerNorm 2 x 3."""

glm = reader("GlmForCausalLM", SIZES, num_experts_per_tok=..., head_dim=4)
glm4 = reader("Glm4ForCausalLM", SIZES, num_experts_per_tok=..., head_dim=4)
glm4_moe = reader("Glm4MoeForCausalLM", SIZES, **EXPERTS)
lite = reader("Glm4MoeLiteForCausalLM", LATENT_SIZES)
dsa = reader(
    "GlmMoeDsaForCausalLM",
    LATENT_SIZES,
    num_hidden_layers=5,
    first_k_dense_replace=1,
    index_n_heads=2,
    index_head_dim=3,
    index_topk=7,
)


def test_dense_glm_by_hand() -> None:
    # Biases of queries, keys and values 16 + 8 + 8; two norms 32, of GLM-4-0414 four.
    assert block_params(glm()) == [768 + 32 + 384 + 32] * 2
    assert block_params(glm4(attention_bias=False)) == [768 + 384 + 64] * 2


def test_glm4_moe_by_hand() -> None:
    assert block_params(glm4_moe()) == [768 + 384 + 32, 768 + 784 + 32]
    # Norms of 4 each for queries and keys.
    assert block_params(glm4_moe(use_qk_norm=True)) == [768 + 8 + 384 + 32, 768 + 8 + 784 + 32]
    # Prediction: two norms 32, projection 32 x 16, a block with experts, final norm 16.
    assert glm4_moe(num_nextn_predict_layers=1).params_mtp == 32 + 512 + (768 + 784 + 32) + 16


def test_glm4_moe_lite_by_hand() -> None:
    assert block_params(lite()) == [DENSE, SPARSE]
    assert block_params(lite(mlp_layer_types=["sparse", "dense"])) == [SPARSE, DENSE]
    assert lite(qk_rope_head_dim=..., head_dim=2) == lite()


def index_blocks(**changes: Any) -> list[int]:
    """Blocks of the small GLM-5 that have an index of their own."""
    mixers = [block.mixer for block in dsa(**changes).blocks]
    assert all(isinstance(mixer, LatentAttention) and mixer.index_topk == 7 for mixer in mixers)
    return [layer for layer, mixer in enumerate(mixers) if mixer.index_heads]


def test_glm_5_by_hand() -> None:
    assert block_params(dsa()) == [DENSE + INDEX] + [SPARSE + INDEX] * 4
    assert block_params(dsa(index_topk_pattern="FSSFS")) == [DENSE + INDEX, SPARSE, SPARSE, SPARSE + INDEX, SPARSE]


def test_blocks_with_an_index_of_their_own() -> None:
    assert index_blocks() == [0, 1, 2, 3, 4]
    # Every other block from the first after the offset; before it all.
    assert index_blocks(index_topk_freq=2) == [0, 1, 3]
    assert index_blocks(index_topk_freq=2, index_skip_topk_offset=3) == [0, 1, 2, 4]
    assert index_blocks(indexer_types=["full", "shared", "full", "shared", "shared"]) == [0, 2]
    assert index_blocks(index_topk_pattern=["full"] + ["shared"] * 3 + ["full"]) == [0, 4]


def test_glm_4_5_air_as_published() -> None:
    model = published("glm_4_5_air")
    assert feed_forward_kinds(model) == ["mlp"] + ["moe"] * 45


@pytest.mark.parametrize(
    ("read", "changes", "message"),
    [
        (glm, {"intermediate_size": ...}, "intermediate_size is missing"),
        (glm4, {"head_dim": 0}, "head_dim is 0"),
        (glm4_moe, {"n_routed_experts": None}, "n_routed_experts is null"),
        (glm4_moe, {"n_group": 3}, "n_group = 3 does not divide n_routed_experts = 4"),
        (lite, {"head_dim": 6}, "qk_rope_head_dim is 2, but head_dim is 6"),
        (dsa, {"index_topk_pattern": "FF"}, "index_topk_pattern is 'FF', but must have one entry for each of 5"),
        (dsa, {"index_topk_pattern": "FFXFF"}, r"index_topk_pattern\[2\] is 'X'"),
        (dsa, {"index_topk_pattern": [[]] * 5}, r"index_topk_pattern\[0\] is \[\]"),
        (dsa, {"indexer_types": ["full"] * 4}, "indexer_types has 4 entries"),
        (dsa, {"index_topk_pattern": "SFFFF"}, "block 0 takes the keys that an earlier block picked"),
        (dsa, {"q_lora_rank": None}, "needs a latent of queries"),
    ],
)
def test_contradictions_are_refused(read: Any, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        read(**changes)
