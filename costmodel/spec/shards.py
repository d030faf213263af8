"""Shards: over how many ranks one layer is shared out, and what of it each holds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shards:
    """Degrees that divide the work and the parameters of one layer among the ranks of a model replica."""

    tp: int = 1
    """Tensor parallelism: heads and columns are split."""
    sp: bool = True
    """Whether tensor-parallel ranks also split the sequence where each would else hold all of it: norms, residuals
    (arXiv 2205.05198). Without, these are whole on every rank."""
    cp: int = 1
    """Context parallelism: each rank has a part of the tokens; they meet keys and values of all (arXiv 2310.01889)."""

    ep: int = 1
    """Expert parallelism: each rank has a part of the routed experts, and the tokens of all ranks meet them there."""
    etp: int | None = None
    """Ranks over which the columns of each routed expert are split; None for those of `tp`."""

    @property
    def expert_tp(self) -> int:
        """Ranks over which the columns of each routed expert are split."""
        return self.tp if self.etp is None else self.etp

    @property
    def experts_apart(self) -> bool:
        """Whether routed experts are shared out in a way of their own, so that tokens are exchanged."""
        return self.ep > 1 or self.expert_tp != self.tp

    @property
    def sequence(self) -> int:
        """Tensor-parallel ranks among which the residual stream is split."""
        return self.tp if self.sp else 1

    def tokens(self, batch: int, seq_len: int) -> int:
        """Tokens of `batch` sequences that the ranks of one context-parallel slice work on."""
        return batch * seq_len // self.cp


WHOLE = Shards()
"""A layer on one rank."""
