"""The length of sequences: what a model allows, and which key would allow more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from costmodel.errors import BadInputError
from planner.cli.lengths import check_seq_len, default_seq_len
from planner.models.read import load_model

CONFIGS = Path(__file__).parents[1] / "models" / "configs"


def refusal(seq_len: int, config: str) -> str:
    """What is said of a length for the sample `config`, or for the preset of that name."""
    named = str(CONFIGS / config) if config.endswith(".json") else config
    loaded = load_model(named)
    with pytest.raises(BadInputError) as caught:
        check_seq_len(seq_len, loaded.spec, loaded.hf_config, named)
    return str(caught.value)


@pytest.mark.parametrize(
    ("config", "longest", "what_would_do"),
    [
        ("olmo_2_13b.json", 4096, "raise max_position_embeddings in its config.json"),
        ("gpt2_xl.json", 1024, "use at most that, or raise n_positions and n_ctx in its config.json"),
        ("dbrx_16x13b.json", 32768, "use at most that, or raise max_seq_len in its config.json"),
        ("clip_vit_base_patch32.json", 77, "raise text_config.max_position_embeddings in its config.json"),
        # Two rows of the table are for padding, so no key says 512; its default is not in the file either.
        ("xlm_roberta_base.json", 512, "takes at most 512 tokens; use at most that"),
        (
            "gpt2-xl",
            1024,
            "use at most that, or name a config.json of your own that takes more (start from `planner show gpt2-xl "
            "--config`)",
        ),
    ],
)
def test_the_key_that_would_allow_more_is_that_of_the_class(config: str, longest: int, what_would_do: str) -> None:
    message = refusal(longest + 1, config)
    assert f"takes at most {longest} tokens; " in message
    assert message.endswith(what_would_do)


def test_a_length_is_at_least_one() -> None:
    assert refusal(0, "mamba-130m") == "--seq-len is 0, but must be a whole number from 1 to 2147483648"
    assert refusal(-1, "gpt2") == "--seq-len is -1, but must be a whole number from 1 to 1024"


@pytest.mark.parametrize(
    ("config", "taken"),
    [
        ("llava_1_5_7b.json", 576),  # (336 / 14)^2 patches
        ("qwen2_5_vl_7b.json", 1024),  # 4096 patches, joined four by four
        ("qwen2_audio_7b.json", 750),  # 1500 frames, joined two by two
        ("mistral_small_3_1_24b.json", 3025),  # 12100 patches, joined four by four, not both together
    ],
)
def test_image_and_sound_take_their_tokens(config: str, taken: int) -> None:
    model = load_model(str(CONFIGS / config)).spec
    assert model.sense_tokens == taken
    assert f"takes {taken} tokens of it; use at least that, and more for text" in refusal(taken - 1, config)
    check_seq_len(taken + 1, model, {}, config)
    assert default_seq_len(model) == 4096


def test_no_length_does_where_image_and_sound_take_more_than_there_is() -> None:
    # 280 tokens of an image and 750 of a window of sound, in sequences of at most 1024.
    for seq_len in (1024, 2048):
        message = refusal(seq_len, "gemma_4_with_sound_small.json")
        assert message.startswith("gemma_4_with_sound_small cannot be trained at any --seq-len: the image or sound in")
        assert "takes 1030 tokens of it, but a sequence has 1024 at most; give a config.json with smaller" in message


def test_images_that_are_read_by_cross_attention_take_none() -> None:
    assert load_model(str(CONFIGS / "llama_3_2_11b_vision.json")).spec.sense_tokens == 0


def test_an_image_of_more_tokens_than_the_default_length_makes_it_longer(tmp_path: Path) -> None:
    config = json.loads((CONFIGS / "llava_1_5_7b.json").read_text(encoding="utf-8"))
    config["vision_config"]["image_size"] = 14 * 65
    config["text_config"]["max_position_embeddings"] = 8192
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    assert default_seq_len(load_model(str(path)).spec) == 65 * 65
