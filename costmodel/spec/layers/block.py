"""A block of the residual stream: a token mixer, perhaps cross-attention, and a feed-forward network, with norms."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from costmodel.spec.layers.attention import Attention
from costmodel.spec.layers.gated_delta_net import GatedDeltaNet
from costmodel.spec.layers.kimi_delta_attention import KimiDeltaAttention
from costmodel.spec.layers.kind import Kind
from costmodel.spec.layers.latent_attention import LatentAttention
from costmodel.spec.layers.lightning_attention import LightningAttention
from costmodel.spec.layers.mamba import Mamba
from costmodel.spec.layers.mamba2 import Mamba2
from costmodel.spec.layers.mlp import Mlp
from costmodel.spec.layers.moe import Moe
from costmodel.spec.layers.norm import Norm
from costmodel.spec.operations import Elementwise, Gemm, Operation, Saved, Split
from costmodel.spec.shards import WHOLE, Shards
from costmodel.spec.stack import SoftwareStack

Mixer = Annotated[
    Attention | LatentAttention | Mamba | Mamba2 | GatedDeltaNet | KimiDeltaAttention | LightningAttention,
    Field(discriminator="kind"),
]
FeedForward = Annotated[Mlp | Moe, Field(discriminator="kind")]


class Block(Kind):
    """One block; any of its parts may be missing, but not all.

    With tensor parallelism the norms work on a slice of the sequence (sequence parallel, arXiv 2205.05198).
    """

    kind: Literal["block"] = "block"
    hidden: int = Field(gt=0)
    mixer: Mixer | None = None
    beside: Mixer | None = None
    """A second mixer, which works on the same input as the first; their results are added (Falcon-H1)."""
    cross_attention: Attention | None = None
    feed_forward: FeedForward | None = None
    norm: Norm = Norm.RMS
    num_norms: int = Field(default=2, ge=0)
    """Normalisations of width `hidden`."""
    norms_output: bool = False
    """Whether a norm reads what a part yields, or the stream that it was added to (post-norm)."""
    parallel: bool = False
    """Whether mixer and feed-forward network work on the same input and are added together (GPT-NeoX, Falcon)."""
    layer_input: int = Field(default=0, ge=0)
    """Numbers that each token brings for this block alone: a gate from `hidden` to them weighs them, and a projection
    adds them to the stream (Gemma 3n). Both matrices are on every tensor-parallel rank."""
    other_params: int = Field(default=0, ge=0)
    """Further small parameters (layer scales, residual gates), on every tensor-parallel rank."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.parts:
            raise ValueError("a block needs a mixer, a cross-attention or a feed-forward network")
        if self.beside is not None and self.mixer is None:
            raise ValueError("a mixer beside another needs the other")
        for part in self.parts:
            if part.hidden != self.hidden:
                raise ValueError(f"{part.kind} has hidden {part.hidden}, but its block {self.hidden}")
        return self

    @property
    def parts(self) -> tuple[Mixer | FeedForward, ...]:
        """Mixers, cross-attention and feed-forward network, those there are."""
        parts = (self.mixer, self.beside, self.cross_attention, self.feed_forward)
        return tuple(part for part in parts if part is not None)

    @property
    def num_half_blocks(self) -> int:
        """How often the residual stream is read and added to."""
        return 1 if self.parallel else len(self.parts) - (self.beside is not None)

    @property
    def last_product_is_kept(self) -> bool:
        """Whether backward needs the result of the block's last multiplication: a norm or a learned scale follows it,
        or the weights of the experts."""
        scaled = self.num_norms > len(self.parts) or self.norms_output or self.other_params > 0
        return scaled or isinstance(self.feed_forward, Moe)

    @property
    def _beside_parts(self) -> int:
        norms = self.num_norms * self.norm.num_params(self.hidden)
        return norms + 2 * self.hidden * self.layer_input + self.other_params

    def num_params(self, shards: Shards = WHOLE) -> int:
        """Norms are on every rank."""
        return self._beside_parts + sum(part.num_params(shards) for part in self.parts)

    def num_expert_params(self, shards: Shards = WHOLE) -> int:
        """Of its parts."""
        return sum(part.num_expert_params(shards) for part in self.parts)

    def num_active_params(self) -> int:
        """Of its parts, and the norms."""
        return self._beside_parts + sum(part.num_active_params() for part in self.parts)

    def operations(self, batch: int, seq_len: int, shards: Shards = WHOLE) -> tuple[Operation, ...]:
        """Norms and residuals, and the parts' own.

        Norms and residuals of a block with two of each move 20 h bytes per token forward and 32 h backward at two
        bytes a value, as published runs support: 2 h values for a norm and 3 h for a residual, 4 h each backward.
        """
        values = shards.tokens(batch, seq_len) * (self.hidden / shards.sequence)
        halves = self.num_half_blocks
        around = Elementwise(
            forward_values=(2 * self.num_norms + 3 * halves) * values,
            backward_values=(4 * self.num_norms + 4 * halves) * values,
        )
        inner = (operation for part in self.parts for operation in part.operations(batch, seq_len, shards))
        return (around, *inner, *self._layer_input_operations(-(-shards.tokens(batch, seq_len) // shards.sequence)))

    def _layer_input_operations(self, tokens: int) -> tuple[Operation, ...]:
        """Gate, product, projection and a residual, for `tokens` of a slice of the sequence."""
        if not self.layer_input:
            return ()
        return (
            Gemm(tokens, self.layer_input, self.hidden),
            Elementwise(
                forward_values=float(tokens) * (3 * self.hidden + 4 * self.layer_input),
                backward_values=float(tokens) * (4 * self.hidden + 6 * self.layer_input),
            ),
            Gemm(tokens, self.hidden, self.layer_input),
        )

    def saved(self, batch: int, seq_len: int, shards: Shards, stack: SoftwareStack) -> Saved:
        """What each norm keeps, the input of each half block (h, gathered or a slice), and what the parts keep.

        The result of a norm is the input of a half block, or, where the norm stands behind it, nothing that backward
        needs. Dropout counts as none.
        """
        tokens = shards.tokens(batch, seq_len)
        inputs = self.num_half_blocks * self.hidden / (1 if stack.gathered_input_saved else shards.sequence)
        # The stream, the gate before and after its activation, and the product.
        own = (self.hidden + 3 * self.layer_input) / shards.sequence if self.layer_input else 0.0
        norms = self.norm.saved(tokens * self.num_norms * self.hidden / shards.sequence, stack)
        around = norms + Saved(values=tokens * (inputs + own))
        return sum((part.saved(batch, seq_len, shards, stack) for part in self.parts), around)

    def state_values(self, seq_len: int) -> int:
        """Of its parts."""
        return sum(part.state_values(seq_len) for part in self.parts)

    def splits(self) -> tuple[Split, ...]:
        """Of its parts."""
        return tuple(split for part in self.parts for split in part.splits())
