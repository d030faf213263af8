"""The head: final norm, projection onto the vocabulary, cross-entropy loss."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from costmodel.spec.base import Spec
from costmodel.spec.operations import Elementwise, Gemm, Operation


class Head(Spec):
    """Norm, vocabulary projection and loss; tensor parallel splits the vocabulary. `tied` shares the table."""

    kind: Literal["head"] = "head"
    vocab: int = Field(gt=0)
    hidden: int = Field(gt=0)
    tied: bool = False

    def num_params(self, tp: int = 1) -> int:
        """Parameters held by each of `tp` ranks, not counting a table tied to the embedding."""
        return self.hidden + (0 if self.tied else self.table_params(tp))

    def table_params(self, tp: int = 1) -> int:
        """Parameters of the vocabulary's table on each of `tp` ranks, wherever they are counted."""
        return -(-self.vocab // tp) * self.hidden

    def operations(self, batch: int, seq_len: int, tp: int = 1) -> tuple[Operation, ...]:
        """Work of one rank. The loss moves each logit 2.5 times forward and twice backward in four bytes.

        10 + 8 bytes per logit is what published runs support (fp32 copies of the logits in an unfused loss).
        """
        tokens = batch * seq_len
        logits = float(tokens) * -(-self.vocab // tp)
        hidden = tokens * self.hidden / tp
        return (
            Gemm(tokens, -(-self.vocab // tp), self.hidden),
            Elementwise(
                forward_values=4 * hidden,
                backward_values=6 * hidden,
                fp32_values_forward=2.5 * logits,
                fp32_values_backward=2.0 * logits,
            ),
        )
