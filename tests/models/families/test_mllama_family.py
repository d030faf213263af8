"""Llama 3.2 Vision: blocks of the text that attend to the tokens of an image."""

from __future__ import annotations

from typing import Any

import pytest
from reading import read, read_file

from costmodel.errors import BadInputError
from costmodel.spec import Part

TEXT = {
    "hidden_size": 8,
    "intermediate_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "cross_attention_layers": [1],
    "vocab_size": 30,
}
VISION = {
    "hidden_size": 4,
    "intermediate_size": 6,
    "num_hidden_layers": 2,
    "num_global_layers": 1,
    "attention_heads": 2,
    "image_size": 8,
    "patch_size": 4,
    "max_num_tiles": 3,
    "supported_aspect_ratios": [[1, 1], [1, 3]],
    "intermediate_layers_indices": [0],
    "vision_output_dim": 8,
}
BOTH = {"text_config": TEXT, "vision_config": VISION}


def test_every_part_by_hand() -> None:
    model = read("MllamaForConditionalGeneration", **BOTH)
    # A tile has 2 x 2 patches and a class token. Patches 48 x 4, class token 4, positions 5 x 4, norms before and after
    # 16. Three rows (two aspect ratios and none) for 3 tiles x 5 positions x 4, and twice for 3 tiles x 4; three gates.
    # A block 4 x 16 + 4 x 6 + 6 + 6 x 4 + 4 + 16 = 138; the global one has two gates.
    assert model.params_by_part["vision"] == 192 + 4 + 20 + 16 + 3 * (60 + 24) + 3 + 3 * 138 + 2
    assert model.params_by_part["connector"] == 8 * 8 + 8
    # Attention 64 + 32 + 32 + 64, three matrices 128, norms 16; the other block also has gains 2 x 4 and two gates.
    assert model.params_by_part["blocks"] == 2 * 592 + 8 + 2
    # Eight rows of the embedding stand beyond the vocabulary; the head is a table of its own.
    assert model.params_by_part["embedding"] == 38 * 8
    assert model.params_by_part["head"] == 30 * 8 + 8
    assert model.vocab == 30


def test_llama_3_2_11b_vision() -> None:
    model = read_file("llama_3_2_11b_vision")
    assert model.params_total == 10_670_220_835
    attends = [layer for layer, block in enumerate(model.blocks) if block.mixer is None]
    assert attends == [3, 8, 13, 18, 23, 28, 33, 38]
    num_tokens = 4 * (40 * 40 + 1)
    assert {run.num_tokens for run in model.runs if run.part is Part.VISION} == {num_tokens}
    for layer in attends:
        cross = model.blocks[layer].cross_attention
        assert (cross.source_len, cross.source_hidden, cross.causal) == (num_tokens, 4096, False)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"text_config": {**TEXT, "cross_attention_layers": [2]}}, "text_config.cross_attention_layers holds 2"),
        ({"text_config": {**TEXT, "cross_attention_layers": 1}}, "text_config.cross_attention_layers is 1"),
        ({"text_config": {**TEXT, "vocab_size": None}}, "text_config.vocab_size is null"),
        ({"vision_config": {**VISION, "vision_output_dim": 12}}, "vision_config.vision_output_dim is 12"),
        ({"vision_config": {**VISION, "intermediate_layers_indices": 1}}, "intermediate_layers_indices is 1"),
        ({"vision_config": {**VISION, "supported_aspect_ratios": ...}}, "max_num_tiles is 3"),
        ({"vision_config": {**VISION, "supported_aspect_ratios": []}}, "supported_aspect_ratios"),
        ({"vision_config": {**VISION, "attention_heads": 3}}, "vision_config.attention_heads = 3 does not divide"),
    ],
)
def test_contradictions_are_refused_by_name(changes: dict[str, Any], named: str) -> None:
    keys: dict[str, Any] = {**BOTH, **changes}
    for section, value in keys.items():
        keys[section] = {key: entry for key, entry in value.items() if entry is not ...}
    with pytest.raises(BadInputError, match=named):
        read("MllamaForConditionalGeneration", **keys)
