"""Activations: every one of transformers that learns nothing is taken, and no other."""

from __future__ import annotations

from typing import Any

import pytest

from costmodel.errors import BadInputError
from costmodel.spec import Block, Mlp
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


@pytest.mark.parametrize("name", PARAMETER_FREE)
def test_each_keeps_as_many_tensors_as_autograd(name: str) -> None:
    """Between two matrices: what is kept besides the input of the first, less the result, which the second keeps."""
    import torch
    from torch import Tensor
    from transformers.activations import ACT2FN

    up, down = torch.nn.Linear(8, 16), torch.nn.Linear(16, 8)
    x = torch.randn(4, 8)
    elsewhere = {tensor.untyped_storage().data_ptr() for tensor in (x, *up.parameters(), *down.parameters())}
    kept: dict[int, Tensor] = {}

    def keep(tensor: Tensor) -> Tensor:
        kept[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        down(ACT2FN[name](up(x)))
    model = read_model({"architectures": ["BertModel"], **SIZES, "hidden_act": name}, "here", "small")
    network = next(run.layer.feed_forward for run in model.runs if isinstance(run.layer, Block))
    assert isinstance(network, Mlp)
    assert network.activation.num_kept == len(kept.keys() - elsewhere) - 1


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
