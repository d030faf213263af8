"""Decoders whose class stands beside their checkpoints: published counts, with their arithmetic, and small ones."""

from __future__ import annotations

from typing import Any

import pytest
from decoder_samples import ATTENTION, GATED, OUTPUT_BIAS, QKV_BIAS, SIZES
from reading import read, read_file

from costmodel.errors import BadInputError

SQUARE = 4096**2
LLAMA_7B_BLOCK = 4 * SQUARE + 3 * 4096 * 11008 + 2 * 4096


@pytest.mark.parametrize(
    ("file", "tables", "block", "num_blocks", "width"),
    [
        ("llama1_7b_first_conversion", 2 * 32_000, LLAMA_7B_BLOCK, 32, 4096),
        # Queries 4096 x 4096, keys and values of 8 heads 4096 x 2048, output.
        ("internlm2_7b", 2 * 92_544, 2 * SQUARE + 4096 * 2048 + 3 * 4096 * 14336 + 8192, 32, 4096),
        ("baichuan2_7b", 2 * 125_696, LLAMA_7B_BLOCK, 32, 4096),
        ("baichuan2_13b", 2 * 125_696, 4 * 5120**2 + 3 * 5120 * 13696 + 2 * 5120, 40, 5120),
        # intermediate_size 22016 counts both upper matrices; queries, keys and values have biases.
        ("qwen_7b", 2 * 151_936, LLAMA_7B_BLOCK + 3 * 4096, 32, 4096),
        # One table; 36 heads of 64.
        ("minicpm_2b", 122_753, 4 * 2304**2 + 3 * 2304 * 5760 + 2 * 2304, 40, 2304),
        # Keys and values of 2 heads of 128, biases of 4096 + 512.
        ("chatglm3_6b", 2 * 65_024, 2 * SQUARE + 4096 * 512 + 4608 + 3 * 4096 * 13696 + 8192, 28, 4096),
        ("glm_4_9b_own_class", 2 * 151_552, 2 * SQUARE + 4096 * 512 + 4608 + 3 * 4096 * 13696 + 8192, 40, 4096),
        # One table, norms without bias, a plain network of 4 x 4096.
        ("mpt_7b", 50_432, 4 * SQUARE + 2 * 4096 * 16384 + 8192, 32, 4096),
        # Two experts shared and 64 routed, each 3 x 2048 x 1408; 16 heads, keys and values of 4.
        (
            "ling_lite",
            2 * 126_464,
            2 * 2048**2 + 2048 * 1024 + 66 * 3 * 2048 * 1408 + 64 * 2048 + 2 * 2048,
            28,
            2048,
        ),
        # Without its layer of multi-token prediction.
        ("mimo_7b", 2 * 151_680, 2 * SQUARE + 4096 * 2048 + 6144 + 3 * 4096 * 11008 + 8192, 36, 4096),
    ],
)
def test_published_models_by_hand(file: str, tables: int, block: int, num_blocks: int, width: int) -> None:
    assert read_file(file).params_total == tables * width + num_blocks * block + width


def test_layer_norms_have_two_numbers_a_column() -> None:
    block = 4 * 2560**2 + 3 * 2560 * 6912 + 4 * 2560
    assert read_file("stablelm_3b_4e1t_old_class").params_total == 2 * 50_304 * 2560 + 32 * block + 2 * 2560


def test_deepseek_moe_by_hand() -> None:
    attends = 28 * (4 * 2048**2 + 2 * 2048)
    experts = 27 * (66 * 3 * 2048 * 1408 + 64 * 2048)
    tables = 2 * 102_400 * 2048 + 2048
    total = read_file("deepseek_moe_16b").params_total
    assert total == tables + attends + experts + 3 * 2048 * 10_944 == 16_375_728_128


def test_prediction_of_mimo_is_counted_apart() -> None:
    # A block of 177,223,680, a projection 8192 x 4096, norms of 8192 before it and of 4096 behind. With it, the
    # published weights: 7,833,409,536.
    model = read_file("mimo_7b")
    assert model.params_mtp == 177_223_680 + 8192 * 4096 + 8192 + 4096
    assert model.params_total + model.params_mtp == 7_833_409_536


def test_the_same_shapes_under_another_name() -> None:
    assert read_file("phi_3_5_moe_own_class").runs == read_file("phi_3_5_moe").runs
    assert read_file("minimax_text_01_first_class").runs == read_file("minimax_text_01").runs


def test_biases_and_norms() -> None:
    def block_of(architecture: str, **keys: Any) -> int:
        return read(architecture, **SIZES, **keys).blocks[0].num_params()

    assert block_of("InternLM2ForCausalLM") == ATTENTION + QKV_BIAS + OUTPUT_BIAS + GATED + 32
    assert block_of("InternLM2ForCausalLM", bias=False) == ATTENTION + GATED + 32
    assert block_of("OrionForCausalLM") == ATTENTION + GATED + 64
    assert block_of("YiForCausalLM") == block_of("AquilaForCausalLM") == ATTENTION + GATED + 32


def test_baichuan_without_positions_has_linear_biases() -> None:
    assert read_file("baichuan2_13b").blocks[0].mixer.linear_biases
    assert not read_file("baichuan2_7b").blocks[0].mixer.linear_biases
    assert read_file("baichuan2_13b").max_seq_len == 4096
    (sentence,) = read_file("baichuan2_13b").assumptions
    assert "so positions are taken to be linear biases of the scores (ALiBi)" in sentence
    assert read_file("baichuan2_7b").assumptions == ()


@pytest.mark.parametrize(
    ("file", "changes", "named"),
    [
        ("qwen_7b", {"intermediate_size": 22_017}, "intermediate_size is 22017, but must be even"),
        ("qwen_7b", {"no_bias": False}, "no_bias is false"),
        ("mpt_7b", {"attn_config__alibi": False}, "attn_config.alibi is false"),
        (
            "mpt_7b",
            {"attn_config__attn_type": "multiquery_attention"},
            "attn_config.attn_type is 'multiquery_attention'",
        ),
        ("mpt_7b", {"no_bias": False}, "no_bias is false"),
        ("chatglm3_6b", {"padded_vocab_size": ...}, "padded_vocab_size is missing"),
        ("chatglm3_6b", {"position_encoding_2d": True}, "position_encoding_2d is a key of the first ChatGLM"),
        (
            "chatglm3_6b",
            {"inner_hidden_size": 16384, "ffn_hidden_size": ...},
            "inner_hidden_size is a key of the first ChatGLM",
        ),
        ("ling_lite", {"use_qk_norm": True}, "use_qk_norm is true"),
        ("minimax_text_01_first_class", {"attn_type_list": [0]}, "attn_type_list has 1 entries"),
        ("minimax_text_01_first_class", {"attn_type_list": [2] * 80}, r"attn_type_list\[0\] is 2"),
        ("minimax_text_01_first_class", {"shared_intermediate_size": 8}, "shared_intermediate_size is 8"),
    ],
)
def test_what_is_not_read_is_refused_by_name(file: str, changes: dict[str, Any], named: str) -> None:
    with pytest.raises(BadInputError, match=named):
        read_file(file, **changes)
