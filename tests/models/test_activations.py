"""Activations: every one of transformers that learns nothing is taken, and no other."""

from __future__ import annotations

from typing import Any

import pytest

from costmodel.errors import BadInputError
from planner.models.families.checks import PARAMETER_FREE
from planner.models.read import read_model

SIZES = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 8,
    "vocab_size": 100,
}
BART = {
    "d_model": 64,
    "vocab_size": 100,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 8,
    "decoder_attention_heads": 8,
    "encoder_ffn_dim": 96,
    "decoder_ffn_dim": 96,
}
KEYS: dict[str, tuple[str, dict[str, Any]]] = {
    "LlamaForCausalLM": ("hidden_act", SIZES),
    "OlmoForCausalLM": ("hidden_act", SIZES),
    "BertModel": ("hidden_act", SIZES),
    "BartModel": ("activation_function", BART),
}
"""The key of the activation, by class."""


def test_the_list_is_that_of_transformers() -> None:
    from transformers.activations import ACT2FN

    assert set(PARAMETER_FREE) == {name for name in ACT2FN if not list(ACT2FN[name].parameters())}


@pytest.mark.parametrize("architecture", KEYS)
def test_decoders_and_encoders_take_the_same_ones(architecture: str) -> None:
    key, sizes = KEYS[architecture]
    totals = {
        read_model({"architectures": [architecture], **sizes, key: name}, "here", "small").params_total
        for name in (*PARAMETER_FREE, None)
    }
    assert len(totals) == 1
    for name in ("prelu", "xielu", "nonsense", ["relu"]):
        with pytest.raises(BadInputError, match=rf"here: {key} is .*, but must be one of silu, "):
            read_model({"architectures": [architecture], **sizes, key: name}, "here", "small")
