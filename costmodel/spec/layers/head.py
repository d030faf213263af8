"""The head: final norm, projection onto the vocabulary, cross-entropy loss."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from costmodel.spec.layers.kind import Kind
from costmodel.spec.layers.norm import Norm
from costmodel.spec.operations import Elementwise, Gemm, Operation, Saved
from costmodel.spec.shards import WHOLE, Shards
from costmodel.spec.stack import SoftwareStack


class Head(Kind):
    """Norm, vocabulary projection and loss; tensor parallel splits the vocabulary. `tied` shares the table."""

    kind: Literal["head"] = "head"
    vocab: int = Field(gt=0)
    hidden: int = Field(gt=0)
    tied: bool = False
    bias: bool = False
    norm: Norm | None = Norm.RMS
    table_width: int | None = Field(default=None, gt=0)
    """Numbers in a row of the table, where a projection without bias narrows `hidden` to them (OPT-350m)."""
    transforms: bool = False
    """Whether a square matrix with bias, an activation and a LayerNorm stand before the projection (BERT)."""
    other_params: int = Field(default=0, ge=0)
    """Further small parameters, on every tensor-parallel rank."""

    def num_params(self, shards: Shards = WHOLE) -> int:
        """Parameters held by each of `tp` ranks, not counting a table tied to the embedding."""
        norm = 0 if self.norm is None else self.norm.num_params(self.hidden)
        narrowing = 0 if self.table_width is None else self.hidden * self.table_width
        transform = self.hidden * (self.hidden + 3) if self.transforms else 0
        table = 0 if self.tied else self.table_params(shards)
        return norm + narrowing + transform + table + -(-self.vocab // shards.tp) * self.bias + self.other_params

    def table_params(self, shards: Shards = WHOLE) -> int:
        """Parameters of the vocabulary's table on each of `tp` ranks, wherever they are counted."""
        return -(-self.vocab // shards.tp) * (self.table_width or self.hidden)

    def operations(self, batch: int, seq_len: int, shards: Shards = WHOLE) -> tuple[Operation, ...]:
        """Work of one rank. The loss moves each logit 2.5 times forward and twice backward in four bytes.

        10 + 8 bytes per logit is what published runs support (fp32 copies of the logits in an unfused loss).
        """
        tokens = shards.tokens(batch, seq_len)
        logits = float(tokens) * -(-self.vocab // shards.tp)
        hidden = tokens * self.hidden / shards.sequence
        before: tuple[Operation, ...] = ()
        if self.transforms:
            before += (Gemm(tokens, self.hidden, self.hidden),)
        if self.table_width is not None:
            before += (Gemm(tokens, self.table_width, self.hidden),)
        return (
            *before,
            Gemm(tokens, -(-self.vocab // shards.tp), self.table_width or self.hidden),
            Elementwise(
                forward_values=4 * hidden,
                backward_values=6 * hidden,
                fp32_values_forward=2.5 * logits,
                fp32_values_backward=2.0 * logits,
            ),
        )

    def saved(self, batch: int, seq_len: int, shards: Shards, stack: SoftwareStack) -> Saved:
        """What the norm keeps, the gathered input of the projection and the fp32 log-probabilities of the loss.

        What the loss needs only for a moment is a memory term of its own.
        """
        tokens = shards.tokens(batch, seq_len)
        norm = Saved() if self.norm is None else self.norm.saved(tokens * self.hidden / shards.sequence, stack)
        widths = self.hidden + (3 * self.hidden if self.transforms else 0) + (self.table_width or 0)
        return norm + Saved(values=float(tokens * widths), fp32_values=float(tokens * -(-self.vocab // shards.tp)))
