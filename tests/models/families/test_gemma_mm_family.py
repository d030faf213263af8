"""Gemma 3 and 4 with their towers: pooled patches, and blocks of a Conformer for sound."""

from __future__ import annotations

from typing import Any

import pytest
from reading import read, read_file

from costmodel.errors import BadInputError
from costmodel.spec import Attention, Part, QkNorm

TEXT_4 = {
    "model_type": "gemma4_text",
    "hidden_size": 8,
    "intermediate_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 4,
    "global_head_dim": 4,
    "hidden_size_per_layer_input": 0,
    "layer_types": ["sliding_attention", "full_attention"],
    "vocab_size": 30,
}
VISION_4 = {
    "hidden_size": 4,
    "intermediate_size": 6,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 4,
    "patch_size": 2,
    "position_embedding_size": 7,
    "pooling_kernel_size": 2,
}
AUDIO_4 = {
    "hidden_size": 4,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "subsampling_conv_channels": [8, 4],
    "conv_kernel_size": 3,
    "output_proj_dims": 6,
}


def _gemma4(**sections: Any) -> dict[str, int]:
    return read("Gemma4ForConditionalGeneration", text_config=TEXT_4, **sections).params_by_part


def test_vision_of_gemma_4_by_hand() -> None:
    parts = _gemma4(vision_config=VISION_4)
    # Patches 3 x 4 x 4; rows and columns 2 x 7 x 4; a block: queries and output 2 x 4 x 8, keys and values 2 x 4 x 4,
    # gains 2 x 4, three matrices 4 x 6, four norms: 192, twice. The connector has no bias, and its norm no gain.
    assert parts["vision"] == 48 + 56 + 2 * 192
    assert parts["connector"] == 4 * 8


def test_sound_of_gemma_4_by_hand() -> None:
    parts = _gemma4(audio_config=AUDIO_4)
    # Convolutions 9 x 8 and 9 x 8 x 4 with norms 8 + 4; what is left of 8 bins joined: 2 x 4 x 4.
    stem = 72 + 288 + 12 + 32
    # Two networks 2 x 4 x 16 with norms 2 x 4 each; attention with a matrix for positions 5 x 16 + 2 and two norms; a
    # convolution 3 x 16 + 3 x 4 and two norms; a last norm.
    block = 2 * (128 + 8) + 82 + 8 + 60 + 8 + 4
    assert parts["audio"] == stem + 2 * block + 4 * 6 + 6
    assert parts["connector"] == 6 * 8


def test_towers_that_are_null_are_not_built() -> None:
    alone = _gemma4(vision_config=None, audio_config=None)
    assert set(alone) == {"embedding", "blocks", "head"}
    both = _gemma4(vision_config=VISION_4, audio_config=AUDIO_4)
    assert {part: both[part] for part in alone} == alone


def test_attention_of_the_tower_of_sound_looks_back_twelve_tokens() -> None:
    model = read_file("gemma_4_with_sound_small")
    seen = [run.layer.mixer for run in model.runs if run.part is Part.AUDIO and getattr(run.layer, "mixer", None)]
    assert len(seen) == 2
    for mixer in seen:
        assert isinstance(mixer, Attention)
        assert (mixer.window, mixer.causal) == (13, True)
    ahead = read_file("gemma_4_with_sound_small", audio_config__attention_context_right=2)
    mixer = next(run.layer.mixer for run in ahead.runs if run.part is Part.AUDIO and getattr(run.layer, "mixer", None))
    assert (mixer.window, mixer.causal) == (15, False)
    assert any("gives no length of recordings" in sentence for sentence in model.assumptions)


def test_images_of_gemma_4_are_nine_patches_a_token() -> None:
    model = read_file("gemma_4_with_sound_small")
    assert {run.num_tokens for run in model.runs if run.part is Part.VISION} == {2520}
    assert {run.num_tokens for run in model.runs if run.part is Part.CONNECTOR} == {280, 750}
    tower = next(run.layer for run in model.runs if run.part is Part.VISION and getattr(run.layer, "mixer", None))
    assert tower.mixer.qk_norm is QkNorm.HEAD
    assert not tower.mixer.causal
    assert tower.num_norms == 4


def test_gemma_3_by_hand() -> None:
    text = {
        "hidden_size": 8,
        "intermediate_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 4,
        "vocab_size": 30,
    }
    vision = {
        "hidden_size": 4,
        "intermediate_size": 6,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "image_size": 8,
        "patch_size": 2,
        "vision_use_head": False,
    }
    model = read("Gemma3ForConditionalGeneration", text_config=text, vision_config=vision, mm_tokens_per_image=4)
    # Patches 3 x 4 x 4 + 4, 16 positions x 4, a block 154, a norm 8. The connector: 4 x 8 and a norm of 4.
    assert model.params_by_part["vision"] == 52 + 64 + 154 + 8
    assert model.params_by_part["connector"] == 36
    # Queries and output 64 each, keys and values 32 each, gains 8; three matrices 128; four norms 8.
    assert model.params_by_part["blocks"] == 192 + 8 + 384 + 32
    assert model.params_by_part["head"] == 8
    assert [run.num_tokens for run in model.runs if run.part is Part.CONNECTOR] == [4]


def test_gemma_3_27b() -> None:
    model = read_file("gemma_3_27b_it")
    assert model.params_total == 27_432_406_640
    windows = [block.mixer.window for block in model.blocks]
    assert windows == [None if (layer + 1) % 6 == 0 else 1024 for layer in range(62)]


@pytest.mark.parametrize(
    ("name", "changes", "named"),
    [
        ("gemma_3_27b_it", {"vision_config": ...}, "vision_config is missing"),
        ("gemma_3_27b_it", {"mm_tokens_per_image": 200}, "mm_tokens_per_image is 200"),
        ("gemma_3_27b_it", {"mm_tokens_per_image": 10_000}, "mm_tokens_per_image is 10000"),
        ("gemma_3_27b_it", {"vision_config__model_type": "clip_vision_model"}, "model_type is 'clip_vision_model'"),
        ("gemma_3_27b_it", {"text_config__model_type": "gemma2"}, "model_type is 'gemma2'"),
        ("gemma_3_27b_it", {"text_config__vocab_size": None}, "text_config.vocab_size is null"),
        ("gemma_4_with_sound_small", {"audio_config__subsampling_conv_channels": [128]}, "subsampling_conv_channels"),
        ("gemma_4_with_sound_small", {"audio_config__num_attention_heads": 3}, "audio_config.num_attention_heads = 3"),
        ("gemma_4_with_sound_small", {"vision_config__hidden_size": None}, "vision_config.hidden_size is null"),
        ("gemma_4_with_sound_small", {"audio_config": 7}, "audio_config is 7"),
    ],
)
def test_contradictions_are_refused_by_name(name: str, changes: dict[str, Any], named: str) -> None:
    with pytest.raises(BadInputError, match=named):
        read_file(name, **changes)
