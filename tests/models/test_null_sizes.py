"""A size that is null is refused where transformers asks for a number, and is no other word for its default."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from costmodel.errors import BadInputError
from planner.models.read import read_model

CONFIGS = Path(__file__).parent / "configs"


def read(file: str, changes: dict[str, Any]) -> Any:
    data = json.loads((CONFIGS / f"{file}.json").read_text(encoding="utf-8"))
    return read_model({**data, **changes}, "here", file)


@pytest.mark.parametrize(
    ("file", "key", "default"),
    [
        ("bamba_9b", "mamba_d_state", "256"),
        ("bamba_9b", "mamba_d_conv", "4"),
        ("falcon_h1_34b", "mamba_n_groups", "1"),
        ("deepseek_v3", "first_k_dense_replace", "3"),
    ],
)
def test_null_is_refused_with_the_default_that_a_missing_key_has(file: str, key: str, default: str) -> None:
    with pytest.raises(BadInputError, match=rf"key {key} is null; give a number, or leave the key out for {default}"):
        read(file, {key: None})


def test_null_is_what_the_class_makes_of_it_where_it_may_be_null() -> None:
    # One key and value head for each head of attention.
    assert read("SYN_null_kv_heads", {}).blocks[0].mixer.num_kv_heads == 32


@pytest.mark.parametrize(("file", "share"), [("phi_2", None), ("phi_2", 0)])
def test_the_share_that_is_rotated_is_a_number(file: str, share: object) -> None:
    with pytest.raises(BadInputError, match=r"partial_rotary_factor is .*, but must be a number above 0 and at most 1"):
        read(file, {"partial_rotary_factor": share})
