"""LLaVA, PaliGemma and Mistral 3: a tower and a language model of several kinds, and the connector between them."""

from __future__ import annotations

from typing import Any

import pytest
from reading import read, read_file

from costmodel.errors import BadInputError
from costmodel.spec import Dense, Part

TEXT = {
    "model_type": "llama",
    "hidden_size": 8,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "vocab_size": 30,
}
VISION = {
    "model_type": "clip_vision_model",
    "hidden_size": 4,
    "intermediate_size": 6,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "image_size": 8,
    "patch_size": 4,
}
BOTH = {"text_config": TEXT, "vision_config": VISION}
# Two tables 30 x 8, four matrices 8 x 8, three 8 x 16, three norms 8.
LLAMA = 2 * 240 + 256 + 384 + 24
# Patches 48 x 4, class token 4, 5 positions x 4, norms 16; a block 4 x 20 + 4 x 6 + 6 + 6 x 4 + 4 + 16 = 154.
CLIP = 192 + 4 + 20 + 16 + 154
# With bias 4 more, 4 positions, one norm; pooling: query 4, attention 80, network 58, norm 8.
SIGLIP = 196 + 16 + 8 + 154 + 4 + 80 + 58 + 8
# No biases: patches 192, norm 4; a block 64 + 3 x 24 + 8.
PIXTRAL = 192 + 4 + 144
CONNECTOR = 4 * 8 + 8 + 8 * 8 + 8


@pytest.mark.parametrize(
    ("tower", "count"), [("clip_vision_model", CLIP), ("siglip_vision_model", SIGLIP), ("pixtral", PIXTRAL)]
)
def test_llava_with_each_tower_by_hand(tower: str, count: int) -> None:
    model = read("LlavaForConditionalGeneration", text_config=TEXT, vision_config={**VISION, "model_type": tower})
    assert model.params_total == count + CONNECTOR + LLAMA


def test_llava_next_learns_a_token_between_rows() -> None:
    assert read("LlavaNextForConditionalGeneration", **BOTH).params_total == CLIP + CONNECTOR + 8 + LLAMA


def test_outputs_of_some_blocks_side_by_side_widen_the_connector() -> None:
    model = read("LlavaForConditionalGeneration", **BOTH, vision_feature_layer=[-1, -2])
    assert model.params_total == CLIP + CONNECTOR + 4 * 8 + LLAMA


@pytest.mark.parametrize(
    ("name", "outer", "inner", "tied"),
    [
        ("LlavaForConditionalGeneration", None, None, False),
        ("LlavaForConditionalGeneration", True, False, True),
        ("LlavaForConditionalGeneration", None, True, True),
        ("LlavaNextForConditionalGeneration", None, True, False),
        ("LlavaNextForConditionalGeneration", True, None, True),
    ],
)
def test_who_ties_the_head(name: str, outer: bool | None, inner: bool | None, tied: bool) -> None:
    text = TEXT if inner is None else {**TEXT, "tie_word_embeddings": inner}
    keys = {} if outer is None else {"tie_word_embeddings": outer}
    assert read(name, text_config=text, vision_config=VISION, **keys).tied == tied


def test_the_head_has_no_bias_whatever_that_of_the_text_would_have() -> None:
    model = read("LlavaForConditionalGeneration", text_config={**TEXT, "model_type": "phi"}, vision_config=VISION)
    # A norm 2 x 8 and a table 30 x 8; PhiForCausalLM would add 30 numbers.
    assert model.params_by_part["head"] == 16 + 240


def test_mistral_3_by_hand() -> None:
    text, vision = {**TEXT, "model_type": "mistral"}, {**VISION, "model_type": "pixtral"}
    # A norm of 4; 2 x 2 patches of 4 into 4; two matrices without biases. The class ties the head by default.
    connector = 4 + 16 * 4 + 4 * 8 + 8 * 8
    model = read("Mistral3ForConditionalGeneration", text_config=text, vision_config=vision)
    assert model.params_total == PIXTRAL + connector + LLAMA - 240


def test_paligemma_by_hand() -> None:
    text = {**TEXT, "model_type": "gemma", "head_dim": 4}
    vision = {**VISION, "model_type": "siglip_vision_model", "vision_use_head": False}
    model = read("PaliGemmaForConditionalGeneration", text_config=text, vision_config=vision, projection_dim=8)
    assert model.params_total == SIGLIP - 150 + 4 * 8 + 8 + LLAMA - 240


@pytest.mark.parametrize(
    ("said", "causal"),
    [({}, False), ({"use_bidirectional_attention": None}, False), ({"use_bidirectional_attention": False}, True)],
)
@pytest.mark.parametrize("model_type", ["gemma", "gemma2"])
def test_text_of_paligemma_is_seen_both_ways_unless_it_says_otherwise(
    model_type: str, said: dict[str, Any], causal: bool
) -> None:
    text = {**TEXT, "model_type": model_type, "head_dim": 4, **said}
    vision = {**VISION, "model_type": "siglip_vision_model", "vision_use_head": False}
    model = read("PaliGemmaForConditionalGeneration", text_config=text, vision_config=vision, projection_dim=8)
    assert {block.mixer.causal for block in model.blocks} == {causal}


def test_llava_1_5_7b() -> None:
    model = read_file("llava_1_5_7b")
    assert (model.num_layers, model.hidden, model.vocab, model.max_seq_len) == (32, 4096, 32064, 4096)
    assert {run.num_tokens for run in model.runs if run.part is Part.VISION} == {577}
    connector = [run for run in model.runs if run.part is Part.CONNECTOR]
    assert all(isinstance(run.layer, Dense) for run in connector)
    assert {run.num_tokens for run in connector} == {576}  # without the class token
    assert "Each sequence is taken to hold one image." in model.assumptions


def test_patches_of_mistral_3_are_merged_by_four() -> None:
    model = read_file("mistral_small_3_1_24b")
    assert {run.num_tokens for run in model.runs if run.part is Part.VISION} == {110**2}
    assert model.runs[-4].num_tokens == 55**2
    assert not any(block.mixer.window for block in model.blocks)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"text_config": {**TEXT, "model_type": "no_such"}}, "text_config.model_type is 'no_such'"),
        ({"text_config": {**TEXT, "model_type": ["llama"]}}, "text_config.model_type"),
        ({"text_config": {**TEXT, "hidden_size": None}}, "text_config.hidden_size is null"),
        ({"text_config": {**TEXT, "hidden_act": "prelu"}}, "hidden_act"),
        ({"vision_config": {**VISION, "model_type": "no_such"}}, "vision_config.model_type is 'no_such'"),
        ({"vision_config": {**VISION, "num_hidden_layers": None}}, "vision_config.num_hidden_layers is null"),
        ({"vision_feature_layer": [0, 7]}, "vision_feature_layer"),
        ({"vision_feature_layer": []}, "vision_feature_layer"),
        ({"projector_hidden_act": "prelu"}, "projector_hidden_act"),
        ({"tie_word_embeddings": "yes"}, "tie_word_embeddings"),
    ],
)
def test_contradictions_are_refused_by_name(changes: dict[str, Any], named: str) -> None:
    keys: dict[str, Any] = {**BOTH, **changes}
    for section in ("text_config", "vision_config"):
        keys[section] = {key: value for key, value in keys[section].items() if value is not ...}
    with pytest.raises(BadInputError, match=named):
        read("LlavaForConditionalGeneration", **keys)


def test_a_projection_must_have_the_width_of_the_text() -> None:
    with pytest.raises(BadInputError, match="projection_dim is 1024"):
        read_file("paligemma_3b_pt_224", projection_dim=1024)
