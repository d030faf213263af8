"""The layer kinds a model is made of: one file each, listed here once."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from costmodel.spec.layers.dense_block import DenseBlock
from costmodel.spec.layers.embedding import Embedding
from costmodel.spec.layers.head import Head

Layer = Annotated[Embedding | DenseBlock | Head, Field(discriminator="kind")]

__all__ = ["DenseBlock", "Embedding", "Head", "Layer"]
