"""Layers of one's own in plain torch, and what tracing makes of a factory that returns them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor, nn
from torch.nn import functional

from costmodel.spec import ModelSpec, Traced
from profiler.tracing import trace_factory
from profiler.tracing.factory import Factory

Example = Callable[[int, int], Tensor]
"""Makes the input of the first layer from batch and length."""

HIDDEN, HEADS, FFN, VOCAB = 32, 4, 48, 96


class DecoderBlock(nn.Module):
    """Norm, attention, norm, gated feed-forward network."""

    def __init__(self, hidden: int = HIDDEN, heads: int = HEADS, ffn: int = FFN) -> None:
        super().__init__()
        self.heads = heads
        self.attention_norm, self.mlp_norm = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.qkv, self.output = nn.Linear(hidden, 3 * hidden, bias=False), nn.Linear(hidden, hidden, bias=False)
        self.gate, self.up = nn.Linear(hidden, ffn, bias=False), nn.Linear(hidden, ffn, bias=False)
        self.down = nn.Linear(ffn, hidden, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        batch, seq_len, hidden = x.shape
        projected = self.qkv(self.attention_norm(x)).view(batch, seq_len, 3, self.heads, hidden // self.heads)
        query, key, value = projected.permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.output(attended.transpose(1, 2).reshape(batch, seq_len, hidden))
        y = self.mlp_norm(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


def blocks(*layers: nn.Module) -> list[nn.Module]:
    """`layers` between a table and a head."""
    return [nn.Embedding(VOCAB, HIDDEN), *layers, nn.Linear(HIDDEN, VOCAB, bias=False)]


class Given(Factory):
    """A factory that is already imported."""

    def __init__(self, layers: Sequence[nn.Module] | nn.Module, example: Example | None) -> None:
        self.text, self.source, self._build = "tests:build", None, lambda: layers
        self._example = example

    def layers(self) -> tuple[tuple[nn.Module, ...], Example | None]:
        layers, example = super().layers()
        return layers, self._example or example


def trace(layers: Sequence[nn.Module] | nn.Module, example: Example | None = None) -> ModelSpec:
    """The model that a factory of `layers` makes."""
    return trace_factory(Given(layers, example))


def traced(model: ModelSpec, index: int = 1) -> Traced:
    """A layer that was traced."""
    layer = model.layers[index]
    assert isinstance(layer, Traced)
    return layer
