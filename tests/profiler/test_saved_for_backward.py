"""Bytes kept for backward, against counts by hand."""

from __future__ import annotations

import gc
import weakref

import torch
from torch import nn

from profiler.saved import SavedBytes


def count(module: nn.Module, inputs: torch.Tensor) -> int:
    with SavedBytes([*module.parameters(), *module.buffers()]) as saved:
        module(inputs)
    return saved.total


def test_a_linear_layer_keeps_its_input() -> None:
    # Input 3 x 8 of four bytes = 96; the weight is a parameter and does not count.
    assert count(nn.Linear(8, 16), torch.randn(3, 8, requires_grad=True)) == 96


def test_linear_and_gelu() -> None:
    # Linear keeps its input, 3 x 8 x 4 = 96 bytes; GELU keeps its own, 3 x 16 x 4 = 192.
    assert count(nn.Sequential(nn.Linear(8, 16), nn.GELU()), torch.randn(3, 8, requires_grad=True)) == 96 + 192


def test_a_storage_kept_twice_counts_once() -> None:
    # Both projections keep the same 3 x 8 input; multiplying keeps both products, 3 x 4 each.
    class Gate(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.left, self.right = nn.Linear(8, 4), nn.Linear(8, 4)

        def forward(self, inputs: torch.Tensor) -> torch.Tensor:
            return self.left(inputs) * self.right(inputs)

    assert count(Gate(), torch.randn(3, 8, requires_grad=True)) == 96 + 2 * 48


def test_an_embedding_keeps_its_token_ids() -> None:
    # 2 x 5 ids of eight bytes.
    assert count(nn.Embedding(10, 4), torch.randint(10, (2, 5))) == 80


def test_low_precision_halves_the_bytes() -> None:
    inputs = torch.randn(3, 8, dtype=torch.bfloat16, requires_grad=True)
    assert count(nn.Linear(8, 16, dtype=torch.bfloat16), inputs) == 48


def test_counting_keeps_nothing_alive() -> None:
    layer = nn.Sequential(nn.Linear(8, 16), nn.GELU())
    inputs = torch.randn(3, 8, requires_grad=True)
    with SavedBytes(layer.parameters()):
        output = layer[0](inputs)
        kept = weakref.ref(output)
        layer[1](output)
    del output
    gc.collect()
    assert kept() is None
