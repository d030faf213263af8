"""Kimi Linear: counts by hand, which blocks have which attention, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from expert_samples import LATENT_SIZES, block_params, feed_forward_kinds, mixer_kinds, published, reader

from costmodel.errors import BadInputError

LINEAR = {"head_dim": 4, "num_heads": 2, "short_conv_kernel_size": 2}
LISTS = {"full_attn_layers": [1], "kda_layers": [2]}
kimi = reader(
    "KimiLinearForCausalLM",
    LATENT_SIZES,
    n_routed_experts=...,
    num_experts=4,
    q_lora_rank=None,
    linear_attn_config=LINEAR,
)

# Latent attention with queries of 16 x 2 x 5 = 160 at once instead of 162: 475; experts 784 (see LATENT_SIZES).
FULL = 475
# Queries, keys, values and output 16 x 8 each, write strength 16 x 2; latents of decay and gate 2 x (16 x 4 + 4 x 8);
# convolution 24 x 2; bias of the decay 8 and its rate 2; norm 4.
DELTA = 512 + 32 + 192 + 48 + 10 + 4


def test_by_hand() -> None:
    assert block_params(kimi()) == [DELTA + 384 + 32, DELTA + 784 + 32]
    listed = kimi(linear_attn_config={**LINEAR, **LISTS})
    assert block_params(listed) == [FULL + 384 + 32, DELTA + 784 + 32]


def test_attention_stands_in_every_fourth_block_but_the_first_by_default() -> None:
    kinds = mixer_kinds(kimi(num_hidden_layers=9))
    assert [layer for layer, kind in enumerate(kinds) if kind == "latent_attention"] == [4, 8]


def test_keys_may_have_the_names_that_the_class_maps() -> None:
    changes = {"num_experts_per_tok": ..., "num_experts_per_token": 2, "n_shared_experts": ..., "num_shared_experts": 1}
    assert kimi(**changes) == kimi()
    outside = {"linear_head_dim": 4, "linear_num_heads": 2, "linear_conv_kernel_dim": 2}
    assert kimi(linear_attn_config=None, **outside).runs == kimi().runs


def test_the_table_of_the_head_is_never_tied() -> None:
    model = kimi(tie_word_embeddings=True)
    assert not model.tied
    assert any("tie_word_embeddings" in sentence for sentence in model.assumptions)


def test_kimi_linear_as_published() -> None:
    model = published("kimi_linear_48b_a3b")
    kinds = mixer_kinds(model)
    full = [layer + 1 for layer, kind in enumerate(kinds) if kind == "latent_attention"]
    assert full == [4, 8, 12, 16, 20, 24, 27]
    assert feed_forward_kinds(model) == ["mlp"] + ["moe"] * 26
    assert model.max_seq_len == 1048576


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_experts": ...}, "num_experts is missing"),
        ({"linear_attn_config": 3}, "linear_attn_config is 3"),
        ({"linear_attn_config": {**LINEAR, **LISTS, "kda_layers": [1, 2]}}, "block 1 stands in both"),
        ({"linear_attn_config": {**LINEAR, **LISTS, "kda_layers": []}}, "block 2 stands in neither"),
        ({"linear_attn_config": {**LINEAR, **LISTS, "kda_layers": [0]}}, "blocks are numbered from 1 to 2"),
        ({"linear_attn_config": {"head_dim": -4}}, "linear_attn_config.head_dim is -4"),
        ({"mlp_layer_types": ["dense"]}, "mlp_layer_types has 1 entries"),
        ({"num_expert_group": 3}, "num_expert_group = 3 does not divide num_experts = 4"),
    ],
)
def test_contradictions_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        kimi(**changes)
