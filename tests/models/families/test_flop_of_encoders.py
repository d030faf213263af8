"""FLOP of whole encoders and encoder-decoders, forward, against what PyTorch counts while transformers runs them.

Eager attention computes all pairs of tokens, so attention is compared without its masks.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from reading import CONFIGS

from costmodel.spec import Block, Layer, ModelSpec, Part
from costmodel.spec.operations import DotProductAttention
from planner.models.read import read_model

TEXT_LEN, SOURCE_LEN = 16, 24
"""Of what is written or classified, and of what an encoder of text reads before."""


def _forward_flop(model: ModelSpec) -> float:
    operations = [
        (run.count, operation)
        for run in model.runs
        for operation in _attending(run.layer).operations(batch=1, seq_len=run.num_tokens or _text_len(run.part))
    ]
    return sum(
        count * (operation.full_flop if isinstance(operation, DotProductAttention) else operation.flop)
        for count, operation in operations
    )


def _text_len(part: Part) -> int:
    return SOURCE_LEN if part is Part.ENCODER else TEXT_LEN


def _attending(layer: Layer) -> Layer:
    """The layer where cross-attention meets as many tokens as the encoder of text reads; no config says how many."""
    if not isinstance(layer, Block) or layer.cross_attention is None or layer.cross_attention.source_len is not None:
        return layer
    cross = layer.cross_attention.model_copy(update={"source_len": SOURCE_LEN})
    return layer.model_copy(update={"cross_attention": cross})


def _inputs(name: str) -> dict[str, Any]:
    import torch

    text = torch.arange(3, 3 + TEXT_LEN)[None]
    if "whisper" in name:
        return {"input_features": torch.ones(1, 16, 60), "decoder_input_ids": text}
    if "deit" in name:
        return {"pixel_values": torch.ones(1, 3, 32, 48)}
    if any(family in name for family in ("t5", "bart", "pegasus")):
        return {"input_ids": torch.arange(3, 3 + SOURCE_LEN)[None], "decoder_input_ids": text}
    return {"input_ids": text}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "bert_model_small",
        "modern_bert_model_small",
        "distil_bert_model_small",
        "t5_model_small",
        "umt5_model_small",
        "bart_model_small",
        "pegasus_model_small",
        "whisper_model_small",
        "deit_model_small",
    ],
)
def test_forward_flop_are_those_that_torch_counts(name: str) -> None:
    import torch
    import transformers
    from torch.utils.flop_counter import FlopCounterMode

    data = json.loads((CONFIGS / f"{name}.json").read_text(encoding="utf-8"))
    model_class = getattr(transformers, data["architectures"][0])
    module = model_class._from_config(
        model_class.config_class.from_dict(dict(data)), attn_implementation="eager"
    ).eval()
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        module(**_inputs(name))
    assert _forward_flop(read_model(data, "here", name)) == counter.get_total_flops()
