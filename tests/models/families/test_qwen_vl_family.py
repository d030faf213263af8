"""Qwen that sees: towers with merged patches, windows, and features handed to the first blocks of the text."""

from __future__ import annotations

from typing import Any

import pytest
from reading import read, read_file

from costmodel.errors import BadInputError
from costmodel.spec import Block, GatedDeltaNet, Moe, Part

TEXT = {
    "hidden_size": 8,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "vocab_size": 30,
}
TOWER = {"depth": 1, "num_heads": 2, "patch_size": 2, "temporal_patch_size": 1, "spatial_merge_size": 2}
# Two tables 240; queries and output 64 each, keys and values 32 each, with biases 8 + 4 + 4; three matrices 128; three
# norms 8.
TEXT_2 = 2 * 240 + 192 + 16 + 384 + 24
# Patches 3 x 2 x 2 x 4 = 48; attention 4 x 16 + 4 x 4 = 80. Merger: a norm of patches, then 16 into 16 into 8.
MERGER = 16 * 16 + 16 + 16 * 8 + 8


def test_qwen2_vl_by_hand() -> None:
    # A network 4 x 8 + 8 + 8 x 4 + 4, norms 16.
    tower = 48 + 80 + 76 + 16
    vision = {**TOWER, "embed_dim": 4, "mlp_ratio": 2, "hidden_size": 8}
    nested = read("Qwen2VLForConditionalGeneration", text_config=TEXT, vision_config=vision)
    flat = read("Qwen2VLForConditionalGeneration", **TEXT, vision_config=vision)
    assert nested.params_total == flat.params_total == tower + 8 + MERGER + TEXT_2


def test_qwen2_5_vl_by_hand() -> None:
    # A gated network 3 x 4 x 6 + 6 + 6 + 4, norms without biases.
    tower = 48 + 80 + 88 + 8
    vision = {**TOWER, "hidden_size": 4, "intermediate_size": 6, "out_hidden_size": 8, "fullatt_block_indexes": [0]}
    model = read("Qwen2_5_VLForConditionalGeneration", text_config=TEXT, vision_config=vision)
    assert model.params_total == tower + 4 + MERGER + TEXT_2


@pytest.mark.parametrize("stacked", [[], [0]])
def test_qwen3_vl_by_hand(stacked: list[int]) -> None:
    # With bias 4; 9 positions x 4; a network 4 x 6 + 6 + 6 x 4 + 4; norms 16 and 8.
    tower = 48 + 4 + 36 + 80 + 58 + 16 + 8
    # A merger more for each block whose features are handed on, whose norm is over 16.
    deep = len(stacked) * (32 + MERGER)
    # No biases in the text, gains of queries and keys 2 x 4.
    text = TEXT_2 - 16 + 8
    vision = {
        **TOWER,
        "hidden_size": 4,
        "intermediate_size": 6,
        "out_hidden_size": 8,
        "num_position_embeddings": 9,
        "deepstack_visual_indexes": stacked,
    }
    model = read("Qwen3VLForConditionalGeneration", text_config={**TEXT, "head_dim": 4}, vision_config=vision)
    assert model.params_total == tower + MERGER + deep + text


def test_experts_of_qwen3_vl_by_hand() -> None:
    vision = {
        **TOWER,
        "hidden_size": 4,
        "intermediate_size": 6,
        "out_hidden_size": 8,
        "num_position_embeddings": 9,
        "deepstack_visual_indexes": [],
    }
    experts = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 3, "head_dim": 4}
    model = read("Qwen3VLMoeForConditionalGeneration", text_config={**TEXT, **experts}, vision_config=vision)
    # Router 4 x 8 and experts 4 x 3 x 24 instead of the dense network 384.
    assert model.params_total == 250 + MERGER + TEXT_2 - 8 - 384 + 32 + 288
    assert model.params_total - model.params_active == 2 * 72


def test_windows_of_qwen2_5_vl_7b() -> None:
    model = read_file("qwen2_5_vl_7b")
    tower = [
        run.layer.mixer
        for run in model.runs
        if run.part is Part.VISION and isinstance(run.layer, Block)
        for _ in range(run.count)
    ]
    # 112 pixels are 4 x 4 merged patches, so 8 x 8 patches.
    assert [mixer.window for mixer in tower] == [None if block in (7, 15, 23, 31) else 64 for block in range(32)]
    assert all(mixer.chunked and not mixer.causal for mixer in tower)
    assert any("gives no size of images" in sentence for sentence in model.assumptions)
    assert (model.num_layers, model.hidden, model.max_seq_len) == (28, 3584, 128000)


def test_towers_of_qwen3_vl_8b() -> None:
    model = read_file("qwen3_vl_8b")
    assert model.params_total == 8_767_123_696
    connector = [(run.count, run.num_tokens) for run in model.runs if run.part is Part.CONNECTOR]
    assert connector == [(1, 576), (1, 576), (3, 576), (3, 576)]


def test_hybrid_text_of_qwen3_5() -> None:
    model = read_file("qwen3_5_dense_small")
    kinds = [isinstance(block.mixer, GatedDeltaNet) for block in model.blocks]
    assert kinds == [True, True, True, False] * 2
    assert model.tied
    assert model.params_mtp > 0
    assert not any(isinstance(block.feed_forward, Moe) for block in model.blocks)


def test_a_text_may_bear_the_name_of_the_whole_model() -> None:
    assert read_file("qwen3_vl_8b", text_config__model_type="qwen3_vl").runs == read_file("qwen3_vl_8b").runs


def test_windows_of_the_text_begin_where_they_are_switched_on() -> None:
    keys = {"num_hidden_layers": 4, "use_sliding_window": True, "max_window_layers": 2, "sliding_window": 16}
    model = read_file("qwen2_vl_7b", **keys)
    assert [block.mixer.window for block in model.blocks] == [None, None, 16, 16]
    assert not any(
        block.mixer.window for block in read_file("qwen2_vl_7b", **{**keys, "use_sliding_window": False}).blocks
    )


@pytest.mark.parametrize(
    ("name", "changes", "named"),
    [
        ("qwen2_vl_7b", {"hidden_size": ...}, "hidden_size is missing"),
        ("qwen2_vl_7b", {"vision_config": None}, "vision_config is null"),
        ("qwen2_vl_7b", {"vision_config__hidden_size": 1280}, "vision_config.hidden_size is 1280"),
        ("qwen2_vl_7b", {"vision_config__embed_dim": None}, "vision_config.embed_dim is null"),
        ("qwen2_5_vl_7b", {"vision_config__fullatt_block_indexes": [32]}, "numbered 0 to 31"),
        ("qwen2_5_vl_7b", {"vision_config__window_size": 14}, "vision_config.window_size is 14"),
        ("qwen2_5_vl_7b", {"vision_config__spatial_merge_size": 3}, "spatial_merge_size is 3"),
        ("qwen3_vl_8b", {"vision_config__deepstack_visual_indexes": "8"}, "deepstack_visual_indexes"),
        ("qwen3_vl_8b", {"vision_config__out_hidden_size": ...}, "out_hidden_size is missing, which means 3584"),
        ("qwen3_vl_8b", {"text_config__model_type": "llama"}, "text_config.model_type is 'llama'"),
        ("qwen3_vl_8b", {"text_config__num_experts": 8}, "num_experts"),
    ],
)
def test_contradictions_are_refused_by_name(name: str, changes: dict[str, Any], named: str) -> None:
    with pytest.raises(BadInputError, match=named):
        read_file(name, **changes)
