"""Language models inside models of several senses: whatever a model_type stands for there ends in a head."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from costmodel.spec import Head, Part
from planner.models.families import families
from planner.models.families.language import Language
from planner.models.family import Family, One, RunSource, Within
from planner.models.keys import KindSource


def languages(layers: Iterable[RunSource]) -> Iterator[Language]:
    for layer in layers:
        if isinstance(layer, Language):
            yield layer
        elif isinstance(layer, Within):
            yield from languages(layer.parts)


INNER = {
    f"{outer.architecture}-{outer.model_type}-{model_type}": inner
    for outer in families()
    for language in languages(outer.layers)
    for model_type, inner in language.families.items()
}


def test_every_model_of_several_senses_is_looked_at() -> None:
    classes = {name.split("-")[0] for name in INNER}
    assert classes >= {
        "LlavaForConditionalGeneration",
        "PaliGemmaForConditionalGeneration",
        "Mistral3ForConditionalGeneration",
        "Llama4ForConditionalGeneration",
        "Gemma3ForConditionalGeneration",
        "Gemma4ForConditionalGeneration",
        "Qwen2VLForConditionalGeneration",
        "Qwen3VLForConditionalGeneration",
        "VoxtralForConditionalGeneration",
        "Qwen2AudioForConditionalGeneration",
    }


@pytest.mark.parametrize("family", INNER.values(), ids=INNER)
def test_the_last_layer_is_a_head_that_is_always_there(family: Family) -> None:
    last = family.layers[-1]
    assert isinstance(last, One)
    assert last.part is Part.HEAD
    assert last.when is True
    assert isinstance(last.layer, KindSource)
    assert last.layer.kind is Head
