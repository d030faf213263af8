"""Nemotron-H: a count by hand of each kind of block, patterns, prediction modules, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from expert_samples import block_params, published, reader

from costmodel.errors import BadInputError
from costmodel.spec import Block

SIZES: dict[str, Any] = {
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 4,
    "mamba_num_heads": 4,
    "mamba_head_dim": 8,
    "n_groups": 2,
    "ssm_state_size": 4,
    "vocab_size": 10,
}
EXPERTS: dict[str, Any] = {
    "n_routed_experts": 3,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 5,
    "moe_shared_expert_intermediate_size": 6,
}
dense = reader("NemotronHForCausalLM", SIZES, hybrid_override_pattern="M*-")
sparse = reader("NemotronHForCausalLM", {**SIZES, **EXPERTS}, hybrid_override_pattern="ME")

# As in Mamba-2: 16 x 84, 48 x 4 + 48, 12, 32, 32 x 16; attention of 768; a plain network of 2 x 16 x 24; each a norm.
MAMBA, ATTENTION, MLP = 2140 + 16, 768 + 16, 768 + 16
# 3 experts of 2 x 16 x 5, a router 3 x 16, a shared network of 2 x 16 x 6.
MOE = 480 + 48 + 192 + 16


def test_each_kind_of_block_by_hand() -> None:
    model = dense()
    assert block_params(model) == [MAMBA, ATTENTION, MLP]
    assert model.params_by_part["head"] == 160 + 16
    assert block_params(sparse()) == [MAMBA, MOE]
    assert sparse().params_active == sparse().params_total - 160


def test_biases_are_those_of_mamba_and_of_networks_only() -> None:
    # 84 in and 16 out; 24 and 16; attention_bias is not read.
    model = dense(use_bias=True, mlp_bias=True, attention_bias=True)
    assert block_params(model) == [MAMBA + 100, ATTENTION, MLP + 40]


def test_experts_may_work_in_a_narrower_stream() -> None:
    # 3 experts of 2 x 7 x 5, projections 16 x 7 and 7 x 16.
    assert block_params(sparse(moe_latent_size=7))[1] == 210 + 224 + 48 + 192 + 16
    # Biases of the projections 7 + 16 and of the shared network 6 + 16.
    assert block_params(sparse(moe_latent_size=7, mlp_bias=True))[1] == 690 + 23 + 22


def test_a_list_says_the_same_as_a_pattern() -> None:
    for names in (["mamba", "attention", "mlp"], ["linear_attention", "full_attention", "mlp"]):
        assert dense(hybrid_override_pattern=..., layers_block_type=names).runs == dense().runs


def test_prediction_modules_are_counted_apart() -> None:
    model = sparse(num_nextn_predict_layers=1, mtp_hybrid_override_pattern="*E")
    assert model.params_total == sparse().params_total
    # Two norms of 16 and a projection 32 x 16, the two blocks, a norm.
    assert model.params_mtp == 32 + 512 + ATTENTION + MOE + 16


def test_the_head_is_never_tied_and_that_is_told() -> None:
    model = dense(tie_word_embeddings=True)
    assert model.params_by_part["head"] == 176
    assert any("does not tie" in sentence for sentence in model.assumptions)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"num_hidden_layers": 4}, "num_hidden_layers is 4, but the pattern of the blocks has 3"),
        ({"hybrid_override_pattern": ...}, "hybrid_override_pattern is missing"),
        ({"hybrid_override_pattern": "M?"}, r"hybrid_override_pattern is 'M\?'"),
        ({"hybrid_override_pattern": ""}, "hybrid_override_pattern is ''"),
        ({"layers_block_type": ["mamba", "dense"]}, r"layers_block_type\[1\] is 'dense'"),
        ({"attention_head_dim": 8}, "attention_head_dim is 8, but the class takes head_dim = 4"),
        ({"intermediate_size": None}, "intermediate_size is null"),
    ],
)
def test_what_contradicts_itself_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        dense(**changes)


def test_published_patterns() -> None:
    old, new = published("nemotron_h_56b"), published("nemotron_3_nano_30b_a3b")
    assert old.params_total == 56_324_350_464
    kinds = [block.mixer.kind for block in old.blocks if isinstance(block, Block) and block.mixer is not None]
    assert (kinds.count("mamba2"), kinds.count("attention"), old.num_layers) == (54, 10, 118)
    assert new.num_layers == 52
    assert new.params_total == 31_577_937_344
