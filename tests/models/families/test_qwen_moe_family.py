"""Qwen with experts and with gated delta nets: counts by hand, kinds of blocks, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from expert_samples import SIZES, block_params, feed_forward_kinds, mixer_kinds, published, reader, windows

from costmodel.errors import BadInputError

EXPERTS = {"num_experts": 3, "moe_intermediate_size": 4, "shared_expert_intermediate_size": 5}
# 3 experts of 3 x 16 x 4 = 576 and a router of 48: 624. Shared expert 3 x 16 x 5 = 240 and its gate 16: 256.
HYBRID = {
    "head_dim": 4,
    "linear_num_key_heads": 1,
    "linear_key_head_dim": 2,
    "linear_num_value_heads": 2,
    "linear_value_head_dim": 3,
    "linear_conv_kernel_dim": 2,
    "partial_rotary_factor": 0.5,
}
GATED = 768 + 256 + 8
"""Attention with a gate, as wide as the queries, and norms of 4 each for queries and keys."""
DELTA = 320 + 96 + 20 + 4 + 3
"""In 16 x (10 convolved + 6 of the gate + 4), out 6 x 16, convolution 10 x 2, decay and bias of 2 heads, norm 3."""

qwen2_moe = reader("Qwen2MoeForCausalLM", SIZES, **EXPERTS)
qwen3_moe = reader("Qwen3MoeForCausalLM", SIZES, **EXPERTS)
qwen3_next = reader("Qwen3NextForCausalLM", SIZES, **EXPERTS, **HYBRID)
qwen3_5 = reader("Qwen3_5ForCausalLM", SIZES, num_experts_per_tok=..., **HYBRID)
qwen3_5_moe = reader("Qwen3_5MoeForCausalLM", SIZES, **EXPERTS, **HYBRID)


def test_qwen2_moe_by_hand() -> None:
    # Biases of queries, keys and values 16 + 8 + 8; a dense network 3 x 16 x 8.
    sparse, dense = 768 + 32 + 624 + 256 + 32, 768 + 32 + 384 + 32
    assert block_params(qwen2_moe()) == [sparse, sparse]
    assert block_params(qwen2_moe(decoder_sparse_step=2)) == [dense, sparse]
    assert block_params(qwen2_moe(mlp_only_layers=[1])) == [sparse, dense]
    assert block_params(qwen2_moe(qkv_bias=False)) == [sparse - 32] * 2


def test_windows_of_qwen2_moe_are_in_every_other_of_the_first_blocks() -> None:
    changes = {"num_hidden_layers": 6, "use_sliding_window": True, "sliding_window": 7, "max_window_layers": 4}
    assert windows(qwen2_moe(**changes)) == [7, None, 7, None, None, None]
    assert set(windows(qwen2_moe(**{**changes, "use_sliding_window": False}))) == {None}


def test_qwen3_moe_by_hand() -> None:
    # Norms of 4 each for queries and keys; no shared expert, whatever the config says.
    assert block_params(qwen3_moe()) == [768 + 8 + 624 + 32] * 2
    assert block_params(qwen3_moe(num_experts=..., num_local_experts=3)) == block_params(qwen3_moe())
    assert windows(qwen3_moe(use_sliding_window=True)) == [4096, 4096]


def test_qwen3_next_by_hand() -> None:
    model = qwen3_next(full_attention_interval=2)
    assert block_params(model) == [DELTA + 624 + 256 + 32, GATED + 624 + 256 + 32]
    assert mixer_kinds(model) == ["gated_delta_net", "attention"]


def test_qwen3_5_by_hand() -> None:
    types = ["full_attention", "linear_attention"]
    assert block_params(qwen3_5(layer_types=types)) == [GATED + 384 + 32, DELTA + 384 + 32]
    assert block_params(qwen3_5_moe(layer_types=types)) == [GATED + 880 + 32, DELTA + 880 + 32]


def test_multi_token_prediction_of_qwen3_5_by_hand() -> None:
    # Two norms 32, projection 32 x 16, a block with attention, final norm 16.
    model = qwen3_5(mtp_num_hidden_layers=1)
    assert model.params_mtp == 32 + 512 + (GATED + 384 + 32) + 16
    assert model.params_total == qwen3_5().params_total


def test_attention_stands_in_every_fourth_block_by_default() -> None:
    kinds = mixer_kinds(qwen3_5(num_hidden_layers=9))
    assert [layer for layer, kind in enumerate(kinds) if kind == "attention"] == [3, 7]


def test_qwen1_5_moe_as_published() -> None:
    model = published("qwen1_5_moe_a2_7b")
    assert feed_forward_kinds(model) == ["moe"] * 24
    assert set(windows(model)) == {None}


@pytest.mark.parametrize(
    ("read", "changes", "message"),
    [
        (qwen2_moe, {"num_experts": ...}, "num_experts is missing"),
        (qwen2_moe, {"num_experts": ..., "num_local_experts": 3}, "num_experts is missing"),
        (qwen2_moe, {"shared_expert_intermediate_size": None}, "shared_expert_intermediate_size is null"),
        (qwen2_moe, {"layer_types": ["sliding_attention"] * 2}, "use_sliding_window is not true"),
        (qwen2_moe, {"layer_types": ["full_attention"] * 3}, "layer_types has 3 entries"),
        (
            qwen3_moe,
            {"mlp_only_layers": [2]},
            "mlp_only_layers holds 2, but num_hidden_layers is 2, so that blocks",
        ),
        (qwen3_moe, {"decoder_sparse_step": 0}, "decoder_sparse_step is 0"),
        (qwen3_moe, {"intermediate_size": -8}, "intermediate_size is -8"),
        (qwen3_next, {"full_attention_interval": 0}, "full_attention_interval is 0"),
        (qwen3_next, {"linear_num_value_heads": 3, "linear_num_key_heads": 2}, "linear_num_value_heads 3 is not a mul"),
        (qwen3_5, {"intermediate_size": ...}, "intermediate_size is missing"),
        (qwen3_5, {"layer_types": ["linear_attention", "mamba"]}, "must be one of linear_attention, full_attention"),
        (qwen3_5_moe, {"moe_intermediate_size": ...}, "moe_intermediate_size is missing"),
    ],
)
def test_contradictions_are_refused(read: Any, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        read(**changes)
