"""Idefics 3, SmolVLM, InternVL and Qwen2.5-Omni: towers whose patches are packed into fewer tokens, by hand."""

from __future__ import annotations

from typing import Any

import pytest
from reading import read, read_file

from costmodel.errors import BadInputError
from costmodel.spec import Part

TEXT: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 8,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "vocab_size": 30,
}
VISION: dict[str, Any] = {
    "hidden_size": 4,
    "intermediate_size": 6,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "image_size": 8,
    "patch_size": 4,
}
# Two tables 30 x 8, four matrices 8 x 8, three 8 x 16, three norms 8.
LLAMA = 2 * 240 + 256 + 384 + 24


@pytest.mark.parametrize("name", ["Idefics3ForConditionalGeneration", "SmolVLMForConditionalGeneration"])
def test_idefics_3_by_hand(name: str) -> None:
    # Patches 48 x 4 + 4, 4 positions; a block 4 x 20 + 30 + 28 + 16; a norm. Four patches of 4 become one token.
    model = read(name, text_config=TEXT, vision_config=VISION, scale_factor=2)
    assert model.params_total == 196 + 16 + 154 + 8 + 16 * 8 + LLAMA
    assert [run.num_tokens for run in model.runs if run.part is Part.CONNECTOR] == [1]


def test_internvl_by_hand() -> None:
    # Patches, class token 4 and 5 positions; a block with two scales of 4, no biases of queries, keys and values; no
    # norm at the end. A norm of 4 x 4, two matrices with biases.
    tower = 196 + 4 + 20 + (154 - 12 + 8)
    connector = 32 + 16 * 8 + 8 + 72
    model = read("InternVLForConditionalGeneration", text_config=TEXT, vision_config=VISION, tie_word_embeddings=False)
    assert model.params_total == tower + connector + LLAMA

    changes = {"use_mask_token": True, "use_mean_pooling": False, "use_qk_norm": True, "attention_bias": True}
    changed = read(
        "InternVLForConditionalGeneration",
        text_config=TEXT,
        vision_config={**VISION, **changes, "norm_type": "rms_norm"},
    )
    # A mask 4, a last norm 8, two norms 4, three biases 4; two norms without biases. The head is tied by default.
    assert changed.params_total - model.params_total == 4 + 8 + 8 + 12 - 8 - 240


def test_what_enters_the_text() -> None:
    def connected(name: str) -> set[int | None]:
        return {run.num_tokens for run in read_file(name).runs if run.part is Part.CONNECTOR}

    assert connected("smolvlm_256m") == {(512 // 16) ** 2 // 16}
    assert connected("internvl3_1b") == {256}
    # Two frames of 1500 become a token, and 64 x 64 patches by four.
    assert connected("qwen2_5_omni_7b_thinker") == {750, 1024}


def test_the_thinker_of_qwen_omni_by_hand() -> None:
    # Sound: 1280 wide without a table of positions; convolutions 3 x 128 and 3 x 1280, 32 blocks without bias of keys,
    # a norm; two tokens and a projection.
    square = 1280**2
    block = 4 * square + 3 * 1280 + 2 * 1280 * 5120 + 5120 + 1280 + 4 * 1280
    audio = 3 * 128 * 1280 + 1280 + 3 * square + 1280 + 32 * block + 2 * 1280
    into_text = 1280 * 3584 + 3584 + 2 * 3584
    others = sum(
        run.count * run.layer.num_params()
        for run in read_file("qwen2_5_vl_7b").runs
        if run.part in (Part.VISION, Part.CONNECTOR, Part.EMBEDDING, Part.BLOCKS, Part.HEAD)
    )
    assert read_file("qwen2_5_omni_7b_thinker").params_total == audio + into_text + others


@pytest.mark.parametrize(
    ("ratio", "named"), [(0, "downsample_ratio is 0"), ("half", "downsample_ratio is 'half'"), (2, "ratio is 2")]
)
def test_a_ratio_that_packs_nothing_is_refused(ratio: Any, named: str) -> None:
    with pytest.raises(BadInputError, match=named):
        read_file("internvl3_1b", downsample_ratio=ratio)
