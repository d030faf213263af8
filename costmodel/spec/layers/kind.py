"""What every layer kind answers: parameters, operations, what it keeps for backward, state along the sequence."""

from __future__ import annotations

from abc import abstractmethod

from costmodel.spec.base import Spec
from costmodel.spec.operations import Operation, Saved, Split
from costmodel.spec.shards import WHOLE, Shards
from costmodel.spec.stack import SoftwareStack


class Kind(Spec):
    """A layer, or a part of one, with its shapes. Ranks share it by `shards`; all sizes are >= 1."""

    @abstractmethod
    def num_params(self, shards: Shards = WHOLE) -> int:
        """Parameters held by each rank."""

    def num_expert_params(self, shards: Shards = WHOLE) -> int:
        """Those among `num_params` that belong to routed experts, of which other ranks hold other ones."""
        return 0

    @abstractmethod
    def operations(self, batch: int, seq_len: int, shards: Shards = WHOLE) -> tuple[Operation, ...]:
        """Work of one rank in the forward pass of `batch` sequences of `seq_len` tokens in all, in order."""

    @abstractmethod
    def saved(self, batch: int, seq_len: int, shards: Shards, stack: SoftwareStack) -> Saved:
        """Numbers that one rank keeps from forward to backward, counted tensor by tensor."""

    def num_active_params(self) -> int:
        """Parameters that one token meets; fewer than all where it is routed to some experts."""
        return self.num_params()

    def state_values(self, seq_len: int) -> int:
        """Numbers that a sequence of `seq_len` tokens hands on to its next token: keys and values, or a state.

        What a cache holds in generation.
        """
        return 0

    @property
    def ring_width(self) -> int | None:
        """Numbers of a token, of all heads, that context-parallel ranks pass on; None where that is not known."""
        return None

    def splits(self) -> tuple[Split, ...]:
        """Sizes that tensor parallelism divides."""
        return ()
