"""MPT as transformers saves it: its attn_config is read, and what the class ignores there is said."""

from __future__ import annotations

from typing import Any

import pytest
from reading import read, read_file

from costmodel.errors import BadInputError

SAVED: dict[str, Any] = {
    "d_model": 16,
    "n_heads": 4,
    "n_layers": 2,
    "vocab_size": 10,
    "max_seq_len": 32,
    "attn_config": {"alibi": True, "attn_type": "multihead_attention", "qk_ln": False, "clip_qkv": None},
}
PARAMS = 10 * 16 + 2 * (4 * 16 * 16 + 2 * 16 * 64 + 2 * 16) + 16
"""The table, which is the head too, two blocks with two norms without bias each, and the last norm."""


@pytest.mark.parametrize("attn_config", [SAVED["attn_config"], {}, None])
def test_the_saved_attn_config_is_read(attn_config: object) -> None:
    model = read("MptForCausalLM", **{**SAVED, "attn_config": attn_config})
    assert model.params_total == PARAMS
    assert model.blocks[0].mixer.linear_biases
    assert model.assumptions == ()


@pytest.mark.parametrize(
    ("key", "value", "usual"),
    [
        ("qk_ln", True, "false"),
        ("alibi", False, "true"),
        ("attn_type", "multiquery_attention", "'multihead_attention'"),
        ("sliding_window_size", 8, "-1"),
        ("prefix_lm", True, "false"),
    ],
)
def test_what_transformers_ignores_is_said_and_what_its_first_class_builds_is_refused(
    key: str, value: object, usual: str
) -> None:
    keys = {**SAVED, "attn_config": {**SAVED["attn_config"], key: value}}
    model = read("MptForCausalLM", **keys)
    assert model.params_total == PARAMS
    (sentence,) = model.assumptions
    assert sentence.startswith(f"attn_config.{key} is ")
    assert sentence.endswith(f"but MptForCausalLM builds what {usual} stands for.")
    with pytest.raises(BadInputError, match=rf"attn_config\.{key} is .* read with {usual} only"):
        read("MPTForCausalLM", **keys)


def test_norms_of_another_kind_are_refused() -> None:
    with pytest.raises(BadInputError, match="norm_type is 'rmsnorm', but MPTForCausalLM is read with"):
        read_file("mpt_7b", norm_type="rmsnorm")


def test_clipping_is_said() -> None:
    (sentence,) = read_file("mpt_7b", attn_config__clip_qkv=6).assumptions
    assert sentence.startswith("What attn_config.clip_qkv keeps for backward")
    with pytest.raises(BadInputError, match=r"attn_config\.clip_qkv is 'hard', but must be a number"):
        read_file("mpt_7b", attn_config__clip_qkv="hard")
