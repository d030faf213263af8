"""Decoders close to Llama: a count by hand for each, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from decoder_samples import ATTENTION, GATED, OUTPUT_BIAS, PLAIN, QKV_BIAS, SIZES, TABLE
from expert_samples import block_params, published, reader

from costmodel.errors import BadInputError

BIASES = QKV_BIAS + OUTPUT_BIAS
GATED_BIASES, PLAIN_BIASES = 24 + 24 + 16, 24 + 16
RMS_NORMS, LAYER_NORMS = 32, 64
SMALL = {**SIZES, "head_dim": 4}


@pytest.mark.parametrize(
    ("architecture", "changes", "block"),
    [
        ("GraniteForCausalLM", {}, ATTENTION + GATED + RMS_NORMS),
        (
            "GraniteForCausalLM",
            {"attention_bias": True, "mlp_bias": True},
            ATTENTION + BIASES + GATED + GATED_BIASES + RMS_NORMS,
        ),
        ("StableLmForCausalLM", {}, ATTENTION + GATED + LAYER_NORMS),
        # One LayerNorm for both halves, a gain per dimension of each head, biases of queries, keys and values.
        (
            "StableLmForCausalLM",
            {"use_parallel_residual": True, "qk_layernorm": True, "use_qkv_bias": True},
            ATTENTION + QKV_BIAS + 24 + GATED + LAYER_NORMS // 2,
        ),
        ("NemotronForCausalLM", {}, ATTENTION + PLAIN + LAYER_NORMS),
        ("NemotronForCausalLM", {"mlp_bias": True}, ATTENTION + PLAIN + PLAIN_BIASES + LAYER_NORMS),
        ("SeedOssForCausalLM", {}, ATTENTION + QKV_BIAS + GATED + RMS_NORMS),
        ("SeedOssForCausalLM", {"attention_out_bias": True}, ATTENTION + BIASES + GATED + RMS_NORMS),
        # A gain of 4 numbers for queries and for keys.
        ("HunYuanDenseV1ForCausalLM", {}, ATTENTION + 8 + GATED + RMS_NORMS),
        ("Ernie4_5ForCausalLM", {}, ATTENTION + GATED + RMS_NORMS),
        ("Ernie4_5ForCausalLM", {"use_bias": True}, ATTENTION + BIASES + GATED + GATED_BIASES + RMS_NORMS),
        # The activation learns two numbers.
        ("ApertusForCausalLM", {}, ATTENTION + 8 + PLAIN + RMS_NORMS + 2),
        ("ApertusForCausalLM", {"hidden_act": "relu2"}, ATTENTION + 8 + PLAIN + RMS_NORMS),
        ("ArceeForCausalLM", {}, ATTENTION + PLAIN + RMS_NORMS),
        ("HyperCLOVAXForCausalLM", {}, ATTENTION + GATED + 2 * RMS_NORMS),
        ("HyperCLOVAXForCausalLM", {"use_post_norm": False}, ATTENTION + GATED + RMS_NORMS),
        ("Jais2ForCausalLM", {}, ATTENTION + BIASES + PLAIN + PLAIN_BIASES + LAYER_NORMS),
        ("InternLM3ForCausalLM", {}, ATTENTION + GATED + RMS_NORMS),
        (
            "InternLM3ForCausalLM",
            {"qkv_bias": True, "bias": True},
            ATTENTION + BIASES + GATED + GATED_BIASES + RMS_NORMS,
        ),
        ("ExaoneForCausalLM", {"num_hidden_layers": ..., "num_layers": 2}, ATTENTION + GATED + RMS_NORMS),
    ],
)
def test_a_block_by_hand(architecture: str, changes: dict[str, Any], block: int) -> None:
    model = reader(architecture, SMALL, tie_word_embeddings=False, partial_rotary_factor=1.0)(**changes)
    assert block_params(model) == [block, block]
    norm = 32 if architecture.startswith(("StableLm", "Nemotron", "Jais")) else 16
    assert model.params_by_part == {"embedding": TABLE, "blocks": 2 * block, "head": TABLE + norm}


@pytest.mark.parametrize(
    ("architecture", "num_kv_heads", "head_dim"),
    [
        ("StableLmForCausalLM", 32, 8),
        ("SeedOssForCausalLM", 8, 128),
        ("Ernie4_5ForCausalLM", 2, 128),
        ("InternLM3ForCausalLM", 2, 128),
        ("ExaoneForCausalLM", 8, 8),
    ],
)
def test_defaults_of_the_class_are_taken_and_told(architecture: str, num_kv_heads: int, head_dim: int) -> None:
    model = reader(architecture, SIZES)(hidden_size=256, num_attention_heads=32, num_key_value_heads=...)
    mixer: Any = model.blocks[0].mixer
    assert (mixer.num_kv_heads, mixer.head_dim) == (num_kv_heads, head_dim)
    assert any("num_key_value_heads is not given" in sentence for sentence in model.assumptions)


@pytest.mark.parametrize(
    ("architecture", "changes", "words"),
    [
        ("GraniteForCausalLM", {"num_key_value_heads": 3}, "not a multiple of num_key_value_heads 3"),
        ("ApertusForCausalLM", {"hidden_act": "prelu"}, "hidden_act is 'prelu'"),
        ("ArceeForCausalLM", {"intermediate_size": None}, "intermediate_size is null"),
        ("InternLM3ForCausalLM", {"bias": True, "mlp_bias": False}, "bias is true, but mlp_bias is false"),
        ("ExaoneForCausalLM", {"num_layers": 3}, "num_hidden_layers is 2, but num_layers is 3"),
        ("Ernie4_5ForCausalLM", {"num_experts": 4}, "num_experts is 4, so this is a mixture of experts"),
    ],
)
def test_what_contradicts_itself_is_refused(architecture: str, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        reader(architecture, SMALL)(**changes)


def test_published_sizes() -> None:
    assert published("seed_oss_36b").params_total == 36_151_104_512
    assert published("ernie_4_5_0_3b").params_total == 360_748_032
    assert published("apertus_8b").params_total == 8_053_338_176
