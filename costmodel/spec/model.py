"""ModelSpec: a model as a sequence of layers with their shapes."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar, Self

from pydantic import Field, model_validator

from costmodel.spec.base import Document, Spec
from costmodel.spec.layers import DenseBlock, Embedding, Head, Layer


class LayerRun(Spec):
    """`count` equal layers in a row."""

    layer: Layer
    count: int = Field(default=1, ge=1)


class ModelSpec(Document):
    """A causal language model: one embedding, blocks, one head, in the order they are computed.

    Layers are numbered over the whole sequence: 0 is the embedding, the last is the head.
    """

    SCHEMA: ClassVar[str] = "model/1"

    name: str = Field(min_length=1)
    architecture: str = Field(min_length=1)
    """The Hugging Face class, e.g. `LlamaForCausalLM`."""
    runs: tuple[LayerRun, ...] = Field(min_length=3)
    max_seq_len: int | None = Field(default=None, gt=0)
    assumptions: tuple[str, ...] = ()
    """What the reader filled in, each a sentence."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        kinds = [run.layer.kind for run in self.runs]
        if kinds[0] != "embedding" or kinds[-1] != "head" or set(kinds[1:-1]) != {"dense_block"}:
            raise ValueError(f"layers must be one embedding, blocks, one head; they are {', '.join(kinds)}")
        if self.runs[0].count != 1 or self.runs[-1].count != 1:
            raise ValueError("embedding and head must stand once")
        widths = {run.layer.hidden for run in self.runs}
        if len(widths) != 1:
            raise ValueError(f"all layers must have one hidden size; they have {sorted(widths)}")
        if self.embedding.vocab != self.head.vocab:
            raise ValueError(f"embedding has vocab {self.embedding.vocab} but the head {self.head.vocab}")
        return self

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """Every layer in order."""
        return tuple(run.layer for run in self.runs for _ in range(run.count))

    @property
    def embedding(self) -> Embedding:
        """The first layer."""
        layer = self.runs[0].layer
        assert isinstance(layer, Embedding)
        return layer

    @property
    def head(self) -> Head:
        """The last layer."""
        layer = self.runs[-1].layer
        assert isinstance(layer, Head)
        return layer

    @cached_property
    def blocks(self) -> tuple[DenseBlock, ...]:
        """The layers between embedding and head."""
        return tuple(layer for layer in self.layers if isinstance(layer, DenseBlock))

    @property
    def num_layers(self) -> int:
        """Number of blocks (what a config calls num_hidden_layers)."""
        return len(self.blocks)

    @property
    def hidden(self) -> int:
        """Width of the residual stream."""
        return self.embedding.hidden

    @property
    def vocab(self) -> int:
        """Number of tokens in the vocabulary."""
        return self.embedding.vocab

    @property
    def tied(self) -> bool:
        """Whether head and embedding share one table."""
        return self.head.tied

    @cached_property
    def params_by_part(self) -> dict[str, int]:
        """Parameters of embedding, blocks and head; a tied table is counted once, with the embedding."""
        parts = {"embedding": 0, "blocks": 0, "head": 0}
        for layer in self.layers:
            parts["blocks" if isinstance(layer, DenseBlock) else layer.kind] += layer.num_params()
        return parts

    @property
    def params_total(self) -> int:
        """All parameters, tied weights once."""
        return sum(self.params_by_part.values())

    @property
    def params_active(self) -> int:
        """Parameters that one token meets; equal to all of them in a dense model."""
        return self.params_total
