"""What is said of a model beside its figures: odd head dimensions, and kernels that are taken to be there."""

from __future__ import annotations

import pytest

from costmodel.capability import cautions
from planner.models.read import load_model


@pytest.mark.parametrize(
    ("preset", "words"),
    [
        ("mamba-130m", "State-space layers are taken to run in fused kernels (mamba-ssm, causal-conv1d)"),
        ("mamba2-130m", "State-space layers"),
        ("qwen3-next-80b-a3b", "Layers of linear attention are taken to run in fused kernels (flash-linear-attention)"),
        (
            "deepseek-v3.2",
            "Layers of attention to keys that an index picks are taken to run in fused kernels (FlashMLA)",
        ),
        ("bloom-560m", "Linear biases of attention are taken to run in fused kernels"),
    ],
)
def test_kernels_that_must_be_there_are_named_once(preset: str, words: str) -> None:
    said = [sentence for sentence in cautions(load_model(preset).spec) if "fallback" in sentence]
    assert len(said) == 1
    assert said[0].startswith(words)


@pytest.mark.parametrize("preset", ["llama-3-8b", "gpt2", "t5-base"])
def test_nothing_is_said_of_plain_attention(preset: str) -> None:
    assert cautions(load_model(preset).spec) == ()
