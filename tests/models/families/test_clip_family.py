"""CLIP and SigLIP: two towers and their projections."""

from __future__ import annotations

from typing import Any

import pytest
from reading import read, read_file

from costmodel.errors import BadInputError
from costmodel.spec import Attention, Block, Part

TOWER = {"hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
TEXT = {**TOWER, "vocab_size": 30, "max_position_embeddings": 10}
VISION = {**TOWER, "image_size": 8, "patch_size": 4}
BLOCKS = 2 * 600  # 4 x 72 + 8 x 16 + 16 + 16 x 8 + 8 + 2 x 16 each
TEXT_TOWER = 40 * 8 + BLOCKS + 16
# CLIP: patches without bias 48 x 8, class token 8, 5 positions x 8, norms before and after 32.
CLIP_TOWER = 384 + 8 + 40 + 32 + BLOCKS
# SigLIP: with bias, 4 positions, one norm; pooling: query 8, attention 288, network 280, norm 16.
SIGLIP_TOWER, POOLING = 392 + 32 + 16 + BLOCKS, 8 + 288 + 280 + 16


@pytest.mark.parametrize(
    ("name", "keys", "count"),
    [
        ("CLIPTextModel", TEXT, TEXT_TOWER),
        ("CLIPTextModelWithProjection", {**TEXT, "projection_dim": 6}, TEXT_TOWER + 48),
        ("CLIPVisionModel", VISION, CLIP_TOWER),
        ("CLIPVisionModelWithProjection", {**VISION, "projection_dim": 6}, CLIP_TOWER + 48),
        (
            "CLIPModel",
            {"text_config": TEXT, "vision_config": VISION, "projection_dim": 6},
            TEXT_TOWER + CLIP_TOWER + 2 * 48 + 1,
        ),
        ("SiglipTextModel", TEXT, TEXT_TOWER + 72),
        ("SiglipVisionModel", VISION, SIGLIP_TOWER + POOLING),
        ("SiglipVisionModel", {**VISION, "vision_use_head": False}, SIGLIP_TOWER),
        (
            "SiglipModel",
            {"text_config": TEXT, "vision_config": VISION},
            TEXT_TOWER + 72 + SIGLIP_TOWER + POOLING + 2,
        ),
    ],
)
def test_every_class_by_hand(name: str, keys: dict[str, Any], count: int) -> None:
    assert read(name, **keys).params_total == count


def test_clip_vit_base_patch32() -> None:
    model = read_file("clip_vit_base_patch32")
    assert model.params_total == 151_277_313
    assert (model.num_layers, model.hidden, model.vocab, model.max_seq_len) == (12, 512, 49408, 77)
    assert model.params_by_part["vision"] == 87_456_000
    seen = [run for run in model.runs if run.part is Part.VISION and isinstance(run.layer, Block)]
    assert [(run.count, run.num_tokens) for run in seen] == [(12, 7 * 7 + 1)]
    assert not seen[0].layer.mixer.causal
    assert all(block.mixer.causal for block in model.blocks)


def test_text_of_siglip_sees_both_ways() -> None:
    for block in read_file("siglip_so400m_patch14_384").blocks:
        assert isinstance(block.mixer, Attention)
        assert not block.mixer.causal


def test_pooling_of_siglip_is_one_query_over_all_patches() -> None:
    pooling = read_file("siglip_so400m_patch14_384_vision").runs[-1]
    assert pooling.num_tokens == 1
    assert pooling.layer.cross_attention.source_len == 27 * 27


def test_a_tower_told_twice_may_not_contradict_itself() -> None:
    keys = {"text_config": TEXT, "vision_config": VISION}
    once = read("CLIPModel", **keys)
    assert read("CLIPModel", **keys, text_config_dict=TEXT).params_total == once.params_total
    for again in ({**TEXT, "hidden_size": 16}, {key: TEXT[key] for key in TEXT if key != "num_hidden_layers"}):
        with pytest.raises(BadInputError, match="the class reads the latter; remove text_config_dict"):
            read("CLIPModel", **keys, text_config_dict=again)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"text_config": None}, "text_config is null"),
        ({"vision_config": []}, "vision_config"),
        ({"vision_config": {**VISION, "image_size": [8, 8]}}, "vision_config.image_size"),
        ({"vision_config": {**VISION, "intermediate_size": None}}, "vision_config.intermediate_size"),
        ({"text_config": {**TEXT, "num_attention_heads": 3}}, "text_config.num_attention_heads = 3 does not divide"),
        ({"projection_dim": None}, "projection_dim is null; give a number, or leave the key out for 512"),
        ({"text_config": {**TEXT, "vocab_size": 0}}, "text_config.vocab_size"),
    ],
)
def test_contradictions_are_refused_by_name(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(BadInputError, match=named):
        read("CLIPModel", **{"text_config": TEXT, "vision_config": VISION, **changes})
