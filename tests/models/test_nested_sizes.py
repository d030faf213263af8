"""Sizes that saving leaves out of nested objects: the defaults of transformers' own classes, and said."""

from __future__ import annotations

from typing import Any

import pytest

from planner.models.nested_sizes import NESTED, fill_nested

KINDS = [
    (outer, section, kind, sizes)
    for outer, sections in NESTED.items()
    for section, kinds in sections.items()
    for kind, sizes in (kinds.items() if None in kinds else [(None, kinds)])
]


@pytest.mark.parametrize(("outer", "section", "kind", "sizes"), KINDS, ids=lambda value: str(value)[:20])
def test_the_sizes_are_the_defaults_of_transformers(outer: str, section: str, kind: Any, sizes: Any) -> None:
    from transformers import CONFIG_MAPPING

    built = CONFIG_MAPPING[outer](**{section: {} if kind is None else {"model_type": kind}})
    nested = getattr(built, section)
    assert {key: getattr(nested, key) for key in sizes} == sizes


def test_what_is_given_stays_and_what_is_filled_is_said() -> None:
    given = {"hidden_size": 2560, "intermediate_size": 10_240, "num_hidden_layers": 34}
    filled, sentences = fill_nested({"text_config": given, "vision_config": None}, "gemma3")
    assert filled["text_config"] == {**given, "num_attention_heads": 8, "vocab_size": 262_208}
    assert filled["vision_config"] is None
    assert sentences == [
        "text_config lacks what saving leaves out, the defaults of its class: "
        "num_attention_heads = 8, vocab_size = 262,208."
    ]


def test_null_is_not_missing() -> None:
    text = {"model_type": "llama", "hidden_size": None}
    filled, _ = fill_nested({"text_config": text}, "llava")
    assert filled["text_config"]["hidden_size"] is None


def test_a_size_under_another_name_is_not_missing() -> None:
    audio = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
    assert fill_nested({"audio_config": audio}, "qwen2_audio") == ({"audio_config": audio}, [])


def test_no_sizes_of_another_class_are_taken() -> None:
    data = {"text_config": {"model_type": "mamba"}}
    assert fill_nested(data, "llava") == (data, [])
    assert fill_nested(data, "llama") == (data, [])


def test_an_object_that_says_nothing_is_not_filled() -> None:
    data = {"text_config": {}, "vision_config": {"model_type": "clip_vision_model"}}
    filled, sentences = fill_nested(data, "llava")
    assert filled["text_config"] == {}
    assert filled["vision_config"]["hidden_size"] == 768
    assert [sentence.split()[0] for sentence in sentences] == ["vision_config"]
