"""Jamba, Bamba, Granite 4 and Falcon-H1: counts by hand, the kind of each block, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from decoder_samples import ATTENTION, GATED, OUTPUT_BIAS, QKV_BIAS, SIZES
from expert_samples import block_params, feed_forward_kinds, mixer_kinds, published, reader

from costmodel.errors import BadInputError
from costmodel.spec import Attention, Block, Mamba2

MAMBA2: dict[str, Any] = {"mamba_n_heads": 4, "mamba_d_state": 4, "mamba_n_groups": 2}
jamba = reader("JambaForCausalLM", SIZES, num_experts=3, num_experts_per_tok=2, num_hidden_layers=8, mamba_d_state=4)
bamba = reader("BambaForCausalLM", {**SIZES, **MAMBA2}, attn_layer_indices=[1])
granite = reader(
    "GraniteMoeHybridForCausalLM",
    {**SIZES, **MAMBA2},
    layer_types=["mamba", "attention"],
    num_local_experts=3,
    num_experts_per_tok=2,
    shared_intermediate_size=5,
)
falcon_h1 = reader("FalconH1ForCausalLM", {**SIZES, **MAMBA2}, mamba_d_ssm=32)

# 32 channels in 4 heads of 8. In: gate 32, input 32, B and C 2 x 2 x 4, time step 4: 16 x 84; convolution
# 48 x 4 + 48; A, D and the time step's bias 12, norm 32, out 32 x 16.
STATE_SPACE, SCAN_NORM = 1344 + 240 + 12 + 32 + 512, 32
# In 16 x 64, convolution 32 x 4 + 32, projection to a rank of 1 and twice 4, time step 32 + 32, A 32 x 4, D 32, out
# 32 x 16, norms of 1 and twice 4.
JAMBA_STATE_SPACE = 1024 + 160 + 288 + 64 + 128 + 32 + 512 + 9


def test_jamba_by_hand() -> None:
    model = jamba()
    # 3 experts and a router of 3 x 16.
    experts = 3 * GATED + 48
    network = [GATED, experts] * 4
    mixers = [JAMBA_STATE_SPACE] * 4 + [ATTENTION] + [JAMBA_STATE_SPACE] * 3
    assert block_params(model) == [mixer + feed + 32 for mixer, feed in zip(mixers, network, strict=True)]
    assert mixer_kinds(model) == ["mamba"] * 4 + ["attention"] + ["mamba"] * 3
    assert feed_forward_kinds(model) == ["mlp", "moe"] * 4
    assert feed_forward_kinds(jamba(expert_layer_period=3, expert_layer_offset=0))[:4] == ["moe", "mlp", "mlp", "moe"]


@pytest.mark.parametrize("name", ["attn_layer", "expert_layer"])
def test_an_offset_of_jamba_lies_within_its_period(name: str) -> None:
    with pytest.raises(BadInputError, match=f"{name}_offset is 4, but must be below {name}_period, which is 3"):
        jamba(**{f"{name}_offset": 4, f"{name}_period": 3})


def test_bamba_by_hand() -> None:
    model = bamba()
    assert block_params(model) == [STATE_SPACE + GATED + 32, ATTENTION + GATED + 32]
    assert mixer_kinds(bamba(attn_layer_indices=None)) == ["mamba2", "mamba2"]
    biased = bamba(attention_bias=True, mlp_bias=True, mamba_proj_bias=True)
    networks = GATED + 24 + 24 + 16 + 32
    # Biases of 84 in and 16 out.
    assert block_params(biased) == [STATE_SPACE + 100 + networks, ATTENTION + QKV_BIAS + OUTPUT_BIAS + networks]


def test_granite_by_hand() -> None:
    # 3 experts, a router 3 x 16, a network of 3 x 16 x 5 for every token.
    experts = 3 * GATED + 48 + 240
    assert block_params(granite()) == [STATE_SPACE + experts + 32, ATTENTION + experts + 32]
    assert granite(layer_types=["linear_attention", "full_attention"]).runs == granite().runs
    dense = granite(num_local_experts=0, num_experts_per_tok=0)
    assert block_params(dense) == [STATE_SPACE + 240 + 32, ATTENTION + 240 + 32]


def test_falcon_h1_has_both_mixers_on_one_input() -> None:
    model = falcon_h1()
    # No norm within the state-space layer unless asked for.
    both = STATE_SPACE - SCAN_NORM + ATTENTION
    assert block_params(model) == [both + GATED + 32] * 2
    assert block_params(falcon_h1(mamba_rms_norm=True)) == [both + SCAN_NORM + GATED + 32] * 2
    # Biases of 84 in, and of 16 out, by keys of their own.
    assert block_params(falcon_h1(mamba_proj_bias=True)) == [both + 84 + GATED + 32] * 2
    assert block_params(falcon_h1(projectors_bias=True)) == [both + 16 + GATED + 32] * 2
    block = model.blocks[0]
    assert isinstance(block, Block)
    assert isinstance(block.mixer, Mamba2)
    assert isinstance(block.beside, Attention)
    assert block.num_half_blocks == 2


@pytest.mark.parametrize(
    ("read", "changes", "words"),
    [
        (bamba, {"attn_layer_indices": [2]}, "attn_layer_indices holds 2, but the blocks have numbers from 0 to 1"),
        (bamba, {"attn_layer_indices": [True]}, "attn_layer_indices holds true"),
        (bamba, {"mamba_d_head": 16}, "mamba_n_heads = 4 heads of 16 are 64 wide, but must be 32"),
        (bamba, {"mamba_n_heads": 5}, "mamba_n_heads = 5 does not divide"),
        (granite, {"num_local_experts": ...}, "num_local_experts is missing"),
        (granite, {"layer_types": ["mamba", "moe"]}, r"layer_types\[1\] is 'moe'"),
        (falcon_h1, {"mamba_d_head": 4}, "are not 32 channels"),
    ],
)
def test_what_contradicts_itself_is_refused(read: Any, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        read(**changes)


def test_published_patterns() -> None:
    model = published("jamba_v0_1")
    assert model.params_total == 51_570_323_328
    assert mixer_kinds(model) == (["mamba"] * 4 + ["attention"] + ["mamba"] * 3) * 4
    assert [index for index, kind in enumerate(mixer_kinds(published("bamba_9b"))) if kind == "attention"] == [
        9,
        18,
        27,
    ]
    assert published("granite_4_0_h_small").params_total == 32_207_337_984
