"""DBRX: counts by hand, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from expert_samples import block_params, reader

from costmodel.errors import BadInputError
from costmodel.spec import Norm

EXPERTS = {"ffn_hidden_size": 8, "moe_num_experts": 3, "moe_top_k": 2}
SIZES = {"d_model": 16, "n_heads": 4, "n_layers": 2, "vocab_size": 10, "attn_config": {"kv_n_heads": 2}}
dbrx = reader("DbrxForCausalLM", SIZES, ffn_config=EXPERTS)


def test_by_hand() -> None:
    # Queries, keys and values 16 x (16 + 2 x 8), output 16 x 16; 3 experts of 3 x 16 x 8, router 48; norms without
    # bias 32. Embedding 160, head 160 and norm 16.
    model = dbrx()
    assert block_params(model) == [512 + 256 + 1152 + 48 + 32] * 2
    assert model.params_total == 160 + 4000 + 176
    assert {block.norm for block in model.blocks} == {Norm.LAYER_WITHOUT_BIAS}


def test_sizes_may_have_the_names_that_the_class_maps() -> None:
    assert dbrx(n_heads=..., num_attention_heads=4, n_layers=..., num_hidden_layers=2) == dbrx()
    assert dbrx(max_seq_len=64).max_seq_len == dbrx(max_position_embeddings=64).max_seq_len == 64


def test_without_attn_config_all_heads_share_one_key() -> None:
    # Queries, keys and values 16 x (16 + 2 x 4).
    assert block_params(dbrx(attn_config=None)) == [384 + 256 + 1152 + 48 + 32] * 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ffn_config": ...}, "ffn_config is missing"),
        ({"ffn_config": {**EXPERTS, "moe_top_k": None}}, "ffn_config.moe_top_k is null"),
        ({"ffn_config": {**EXPERTS, "moe_top_k": 4}}, "ffn_config.moe_top_k 4 is above ffn_config.moe_num_experts 3"),
        ({"ffn_config": {**EXPERTS, "hidden_size": 8}}, "ffn_config.hidden_size is 8, but d_model is 16"),
        ({"ffn_config": {**EXPERTS, "ffn_act_fn": {"name": "snake"}}}, "ffn_config.ffn_act_fn.name is 'snake'"),
        ({"d_model": ..., "hidden_size": 16}, "d_model is missing"),
        ({"n_heads": 3}, "n_heads = 3 does not divide d_model = 16"),
        ({"tie_word_embeddings": True}, "cannot tie its embeddings"),
    ],
)
def test_contradictions_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        dbrx(**changes)
