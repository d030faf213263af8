"""Llama 4 with its tower of vision, given or the class's own."""

from __future__ import annotations

from typing import Any

import pytest
from reading import read, read_file

from costmodel.errors import BadInputError
from costmodel.spec import Moe, Part

TEXT = {
    "hidden_size": 8,
    "intermediate_size": 6,
    "intermediate_size_mlp": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 4,
    "num_local_experts": 4,
    "num_experts_per_tok": 1,
    "interleave_moe_layer_step": 2,
    "vocab_size": 30,
}
VISION = {
    "hidden_size": 4,
    "intermediate_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 8,
    "patch_size": 2,
    "projector_input_dim": 10,
    "projector_output_dim": 10,
    "vision_output_dim": 10,
}


def test_every_part_by_hand() -> None:
    model = read("Llama4ForConditionalGeneration", text_config=TEXT, vision_config=VISION)
    # Patches 3 x 4 x 4, class token 4, 17 positions x 4, norms before and after 16; a block 80 + 148 + 16 = 244, twice.
    assert model.params_by_part["vision"] == 48 + 4 + 68 + 16 + 2 * 244
    assert model.params_by_part["connector"] == 16 * 10 + 10 * 10 + 10 * 8
    # Attention 192 and norms 16 twice; three matrices 8 x 16; router 32, four experts and a shared one 3 x 8 x 6 each.
    assert model.params_by_part["blocks"] == 2 * 208 + 384 + 32 + 5 * 144
    assert [isinstance(block.feed_forward, Moe) for block in model.blocks] == [False, True]


def test_patches_are_shuffled_into_a_quarter() -> None:
    model = read_file("llama_4_maverick")
    assert model.params_total == 401_583_781_376
    assert {run.num_tokens for run in model.runs if run.part is Part.VISION} == {24 * 24 + 1}
    assert {run.num_tokens for run in model.runs if run.part is Part.CONNECTOR} == {144}


def test_a_tower_that_is_not_given_is_the_one_that_the_class_builds() -> None:
    model = read("Llama4ForConditionalGeneration", text_config=TEXT)
    width, network, patches = 768, 5632, (448 // 14) ** 2
    block = 4 * (width * width + width) + 2 * width * network + network + width + 4 * width
    stem = 3 * 14 * 14 * width + width + (patches + 1) * width + 4 * width
    assert model.params_by_part["vision"] == stem + 34 * block
    assert model.params_by_part["connector"] == network * 4096 + 4096 * 4096 + 7680 * 8
    assert any("vision_config is not given: a tower of 34 blocks" in sentence for sentence in model.assumptions)


def test_the_text_says_whether_tables_are_tied() -> None:
    for tied in (True, False):
        text = {**TEXT, "tie_word_embeddings": tied}
        model = read(
            "Llama4ForConditionalGeneration", text_config=text, vision_config=VISION, tie_word_embeddings=not tied
        )
        assert model.tied == tied


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"text_config": ...}, "text_config is missing"),
        ({"text_config": {**TEXT, "num_local_experts": None}}, "text_config.num_local_experts is null"),
        ({"vision_config": {"hidden_size": None}}, "vision_config.hidden_size is null"),
        ({"vision_config": {**VISION, "intermediate_size": 8}}, "vision_config.intermediate_size is 8"),
        ({"vision_config": {**VISION, "vision_output_dim": 8}}, "vision_config.vision_output_dim is 8"),
        ({"vision_config": {**VISION, "pixel_shuffle_ratio": 0}}, "pixel_shuffle_ratio"),
        ({"vision_config": {**VISION, "patch_size": [2, 2]}}, "vision_config.patch_size"),
    ],
)
def test_contradictions_are_refused_by_name(changes: dict[str, Any], named: str) -> None:
    keys = {"text_config": TEXT, "vision_config": VISION, **changes}
    with pytest.raises(BadInputError, match=named):
        read("Llama4ForConditionalGeneration", **{key: value for key, value in keys.items() if value is not ...})
