"""ViT, DeiT and DINOv2: how many tokens an image becomes, and what stands around the blocks."""

from __future__ import annotations

from typing import Any

import pytest
from reading import read, read_file

from costmodel.errors import BadInputError
from costmodel.spec import Attention, Part

SIZES = {
    "hidden_size": 8,
    "intermediate_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": [8, 12],
    "patch_size": 4,
    "num_channels": 3,
}
# 2 x 3 patches. Patches into tokens: 3 x 4 x 4 x 8 + 8 = 392. A block 288 + 280 + 32 = 600, twice; last norm 16: 1608.
# ViT: class token 8 and 7 positions x 8; DeiT: two tokens and 8 positions.
VIT, DEIT = 1608 + 64, 1608 + 80
POOLER, CLASSIFIER = 8 * 8 + 8, 8 * 5 + 5


@pytest.mark.parametrize(("prefix", "backbone"), [("ViT", VIT), ("DeiT", DEIT)])
def test_every_class_of_vit_by_hand(prefix: str, backbone: int) -> None:
    expected = {
        "ForImageClassification": backbone + CLASSIFIER,
        "Model": backbone + POOLER,
        # A token for what is masked, and for each patch 2 x 2 pixels of 3 channels.
        "ForMaskedImageModeling": backbone + 8 + 8 * 12 + 12,
    }
    counts = {name: read(f"{prefix}{name}", **SIZES, num_labels=5, encoder_stride=2).params_total for name in expected}
    assert counts == expected


def test_a_second_classifier_learns_from_a_teacher() -> None:
    model = read("DeiTForImageClassificationWithTeacher", **SIZES, num_labels=5)
    assert model.params_total == DEIT + 2 * CLASSIFIER


def test_no_classes_no_classifier() -> None:
    assert read("ViTForImageClassification", **SIZES, num_labels=0).params_total == VIT


def test_no_biases_of_queries_keys_and_values() -> None:
    assert read("ViTModel", **SIZES, qkv_bias=False).params_total == VIT + POOLER - 2 * 24


@pytest.mark.parametrize(
    ("name", "changes", "count"),
    [
        # The network is mlp_ratio times as wide; two scales of 8 a block; token, mask token and positions 7 x 8.
        ("Dinov2Model", {}, 1608 + 2 * 16 + 8 + 8 + 56),
        ("Dinov2Model", {"use_mask_token": False}, 1608 + 2 * 16 + 8 + 56),
        # Gated: two thirds of 16 columns, rounded up to 16: 3 x 128 + 2 x 16 + 8 instead of 280.
        ("Dinov2Model", {"use_swiglu_ffn": True}, 1608 + 2 * (16 + 424 - 280) + 8 + 8 + 56),
        ("Dinov2ForImageClassification", {}, 1608 + 2 * 16 + 8 + 8 + 56 + 16 * 5 + 5),
        # Two registers more; they have no positions.
        ("Dinov2WithRegistersModel", {}, 1608 + 2 * 16 + 8 + 8 + 56 + 16),
        ("Dinov2WithRegistersForImageClassification", {}, 1608 + 2 * 16 + 8 + 8 + 56 + 16 + 16 * 5 + 5),
    ],
)
def test_every_class_of_dinov2_by_hand(name: str, changes: dict[str, Any], count: int) -> None:
    more = {"mlp_ratio": 2, "num_register_tokens": 2, "num_labels": 5}
    assert read(name, **{**SIZES, **more, **changes}).params_total == count


def test_vit_base() -> None:
    model = read_file("vit_base_patch16_224")
    assert model.params_total == 86_567_656
    assert model.num_layers == 12
    assert model.vocab is None
    assert {run.num_tokens for run in model.runs if run.part is Part.BLOCKS} == {14 * 14 + 1}
    for block in model.blocks:
        assert isinstance(block.mixer, Attention)
        assert not block.mixer.causal


def test_registers_are_tokens() -> None:
    model = read_file("dinov2_with_registers_base")
    assert {run.num_tokens for run in model.runs} == {37 * 37 + 1 + 4}


def test_a_size_of_images_that_is_not_given_is_told() -> None:
    model = read_file("vit_base_patch16_224", image_size=...)
    assert model.params_total == 86_567_656
    assert any("image_size is not given: 224" in sentence for sentence in model.assumptions)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"intermediate_size": ...}, "key intermediate_size is missing"),
        ({"image_size": [8]}, "image_size"),
        ({"image_size": "8"}, "image_size"),
        ({"image_size": None}, "image_size"),
        ({"patch_size": 16}, "patch_size is 16 x 16"),
        ({"patch_size": True}, "patch_size"),
        ({"num_attention_heads": 3}, "num_attention_heads = 3 does not divide hidden_size"),
        ({"id2label": [1, 2]}, "id2label"),
    ],
)
def test_contradictions_are_refused_by_name(changes: dict[str, Any], named: str) -> None:
    data = {key: value for key, value in {**SIZES, **changes}.items() if value is not ...}
    with pytest.raises(BadInputError, match=named):
        read("ViTForImageClassification", **data)
