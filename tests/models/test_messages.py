"""A refusal is one line that a terminal can show, and it names the keys that a person must change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from costmodel.errors import BadInputError
from costmodel.spec.shown import MAX_SHOWN, shown, shown_key
from planner.models.read import read_model

CONFIGS = Path(__file__).parent / "configs"
PHI = {
    "architectures": ["PhiForCausalLM"],
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 8,
    "vocab_size": 100,
}


def refusal(data: dict[str, Any]) -> str:
    with pytest.raises(BadInputError) as caught:
        read_model(data, "here", "small")
    return str(caught.value)


@pytest.mark.parametrize("key", ["expert\nx", "moe_\u202e", "\x1b[31mexpert", " expert", "expert" * 1000])
def test_a_key_of_the_files_own_making_cannot_spoil_the_message(key: str) -> None:
    message = refusal({**PHI, key: 3})
    assert message.isprintable()
    assert "so this is a mixture of experts, but" in message
    assert len(message) < 300


def test_keys_and_values_are_cut() -> None:
    assert shown_key("moe") == "moe"
    assert shown_key("") == "''"
    assert shown_key("a\nb") == r"'a\nb'"
    assert len(shown_key("k" * 10_000)) == len(shown("v" * 10_000)) == MAX_SHOWN


def test_values_are_shown_as_the_file_spells_them() -> None:
    assert shown({"a": [True, None, "x"]}) == '{"a": [true, null, "x"]}'
    assert [shown(value) for value in (None, False, 1.5, "silu")] == ["null", "false", "1.5", "'silu'"]
    assert shown(["\u202e"]) == '["\\u202e"]'
    assert "hidden_size is [true, null], but" in refusal({**PHI, "hidden_size": [True, None]})


@pytest.mark.parametrize("architectures", [[""], [" "], [None], [3], "LlamaForCausalLM", {"a": None}])
def test_a_class_needs_a_name(architectures: object) -> None:
    message = refusal({**PHI, "architectures": architectures})
    assert 'but must be a list that begins with the name of a class, e.g. ["LlamaForCausalLM"]' in message


def test_a_model_type_needs_a_name() -> None:
    assert "model_type is '', but must be a text such as 'llama'" in refusal({"model_type": ""})
    assert "model_type is '', but must be a text" in refusal({**PHI, "model_type": ""})


def test_a_head_that_cannot_be_turned_names_the_keys_of_its_width() -> None:
    # 64 / 32 = 2 dimensions, of which half are turned: one.
    message = refusal({**PHI, "num_attention_heads": 32})
    assert (
        "turn 1 of the 2 dimensions of a head (hidden_size / num_attention_heads = 2, partial_rotary_factor 0.5)"
        in (message)
    )
    assert "(head_dim = 3," in refusal({**PHI, "head_dim": 3})


def test_a_list_of_blocks_with_attention_names_the_number_of_blocks() -> None:
    bamba = json.loads((CONFIGS / "bamba_9b.json").read_text(encoding="utf-8"))
    message = refusal({**bamba, "num_hidden_layers": 9})
    assert "attn_layer_indices holds 9, but the blocks have numbers from 0 to 8 (num_hidden_layers is 9)" in message


def test_heads_that_do_not_fill_the_width_name_all_keys_that_decide() -> None:
    mamba2 = {"architectures": ["Mamba2ForCausalLM"], "hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 100}
    message = refusal({**mamba2, "num_heads": 8, "head_dim": 17})
    assert "num_heads = 8 heads of 17 are 136 wide, but must be 128" in message
    assert message.endswith("give head_dim, expand and hidden_size that agree")
    granite = json.loads((CONFIGS / "granite_4_0_h_small.json").read_text(encoding="utf-8"))
    assert refusal({**granite, "mamba_d_head": 192}).endswith(
        "give mamba_d_head, mamba_expand and hidden_size that agree"
    )


def test_a_head_width_that_would_do_instead_is_named() -> None:
    qwen = {**PHI, "architectures": ["Qwen3ForCausalLM"], "num_attention_heads": 7, "head_dim": None}
    assert refusal(qwen).endswith(
        "num_attention_heads = 7 does not divide hidden_size = 64; give sizes that divide, or head_dim"
    )


def test_a_tower_names_its_own_width() -> None:
    llama = json.loads((CONFIGS / "llama_3_2_11b_vision.json").read_text(encoding="utf-8"))
    vision = {**llama["vision_config"], "hidden_size": 2560}
    assert "7680, but vision_config.hidden_size x (1 + the length of" in refusal({**llama, "vision_config": vision})


def test_latent_attention_shares_no_keys_among_heads() -> None:
    minicpm = json.loads((CONFIGS / "minicpm3_4b.json").read_text(encoding="utf-8"))
    message = refusal({**minicpm, "num_attention_heads": 20})
    assert "num_key_value_heads = 40 does not divide num_attention_heads = 20" in message


def test_a_model_beyond_all_bounds_is_refused_with_its_largest_numbers() -> None:
    # 1,000 blocks with matrices 4 x 2^22 x 2^22 and 2 x 2^22 x 2^23: 7.0e13 + 7.0e13 each, 1.4e17 in all.
    message = refusal({**PHI, "hidden_size": 2**22, "intermediate_size": 2**23, "num_hidden_layers": 1000})
    assert "makes a model of 1.4e+17 parameters, but there is none above 1e+15" in message
    assert "intermediate_size = 8388608, hidden_size = 4194304, num_hidden_layers = 1000" in message


def test_a_patch_that_is_larger_than_the_image_names_both() -> None:
    vit = json.loads((CONFIGS / "vit_base_patch16_224.json").read_text(encoding="utf-8"))
    assert "patch_size is 16 x 16, but image_size 1 x 1 only" in refusal({**vit, "image_size": 1})


def test_nemotron_h_has_no_activation_that_learns() -> None:
    nemotron = json.loads((CONFIGS / "nemotron_h_56b.json").read_text(encoding="utf-8"))
    assert "mamba_hidden_act is 'xielu', but must be one of" in refusal({**nemotron, "mamba_hidden_act": "xielu"})


def test_a_rotation_is_named_with_its_place() -> None:
    scaling = {"rope_type": "yarn", "factor": 0.5, "original_max_position_embeddings": 64}
    phi = {**PHI, "partial_rotary_factor": 1.0}
    assert "here: rope_scaling.factor is 0.5" in refusal({**phi, "rope_scaling": scaling})
    assert "here: rope_parameters.factor is 0.5" in refusal({**phi, "rope_parameters": scaling})
    gemma = json.loads((CONFIGS / "gemma4_26b_a4b.json").read_text(encoding="utf-8"))
    text = {**gemma["text_config"], "rope_parameters": {"full_attention": scaling}}
    assert "text_config.rope_parameters.full_attention.factor is 0.5" in refusal({**gemma, "text_config": text})


def test_a_size_in_a_nested_object_is_named_with_it() -> None:
    dbrx = json.loads((CONFIGS / "dbrx_16x13b.json").read_text(encoding="utf-8"))
    message = refusal({**dbrx, "attn_config": {**dbrx["attn_config"], "kv_n_heads": 32}})
    assert "n_heads 48 is not a multiple of attn_config.kv_n_heads 32" in message


def test_an_odd_head_names_what_it_comes_from() -> None:
    llama = {**PHI, "architectures": ["LlamaForCausalLM"], "hidden_size": 72}
    assert "head_dim is 9 (hidden_size / num_attention_heads), but rotary" in refusal(llama)
    assert "head_dim is 9, but rotary" in refusal({**llama, "head_dim": 9})
