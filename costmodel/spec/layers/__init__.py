"""The layer kinds a model is made of: one file each, listed here once.

A `Block` is itself made of kinds: a token mixer (attention of some sort, a state-space layer, linear attention) and a
feed-forward network (dense or a mixture of experts).
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from costmodel.spec.layers.activation import Activation
from costmodel.spec.layers.attention import Attention, QkNorm, ScoreBias
from costmodel.spec.layers.block import Block, FeedForward, Mixer
from costmodel.spec.layers.dense import Dense
from costmodel.spec.layers.embedding import Embedding
from costmodel.spec.layers.final_norm import FinalNorm
from costmodel.spec.layers.gated_delta_net import GatedDeltaNet
from costmodel.spec.layers.head import Head
from costmodel.spec.layers.kimi_delta_attention import KimiDeltaAttention
from costmodel.spec.layers.kind import Kind
from costmodel.spec.layers.latent_attention import LatentAttention
from costmodel.spec.layers.lightning_attention import LightningAttention
from costmodel.spec.layers.mamba import Mamba
from costmodel.spec.layers.mamba2 import Mamba2
from costmodel.spec.layers.mlp import Mlp
from costmodel.spec.layers.moe import Moe
from costmodel.spec.layers.norm import Norm
from costmodel.spec.layers.stem import Filter, Stem
from costmodel.spec.layers.traced import Traced

Layer = Annotated[Embedding | Stem | Block | FinalNorm | Dense | Head | Traced, Field(discriminator="kind")]

__all__ = [
    "Activation",
    "Attention",
    "Block",
    "Dense",
    "Embedding",
    "FeedForward",
    "Filter",
    "FinalNorm",
    "GatedDeltaNet",
    "Head",
    "KimiDeltaAttention",
    "Kind",
    "LatentAttention",
    "Layer",
    "LightningAttention",
    "Mamba",
    "Mamba2",
    "Mixer",
    "Mlp",
    "Moe",
    "Norm",
    "QkNorm",
    "ScoreBias",
    "Stem",
    "Traced",
]
