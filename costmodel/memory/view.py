"""What a memory term looks at: one rank of one pipeline stage."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from costmodel.price import LayerPrice
from costmodel.schedules import SCHEDULES
from costmodel.setting import Mesh, Setting
from costmodel.spec import Head, Layer, Recompute


@dataclass(frozen=True)
class StageView:
    """The layers of stage `stage`, each with its price and recompute mode."""

    setting: Setting
    mesh: Mesh
    stage: int
    layers: tuple[Layer, ...]
    prices: tuple[LayerPrice, ...]
    recompute: tuple[Recompute, ...]

    @cached_property
    def num_params(self) -> int:
        """Parameters of the stage on one tensor-parallel rank, before ZeRO."""
        return sum(price.num_params for price in self.prices)

    @cached_property
    def num_owned_params(self) -> float:
        """Parameters of the stage that one rank owns where they are shared out over the ranks that hold them."""
        return self.mesh.owned(self.num_params, sum(price.num_expert_params for price in self.prices))

    @cached_property
    def largest_layer_params(self) -> int:
        """Parameters of the largest layer on one tensor-parallel rank."""
        return max(price.num_params for price in self.prices)

    @property
    def compute_bytes(self) -> int:
        """Bytes of a number in the compute precision."""
        return self.setting.workload.precision.bytes

    @property
    def zero(self) -> int:
        """The ZeRO stage that has an effect: one replica has nothing to shard."""
        return self.mesh.zero if self.mesh.num_replicas > 1 else 0

    @property
    def in_flight(self) -> int:
        """Micro-batches whose activations the stage holds at its peak."""
        return (
            SCHEDULES[self.mesh.schedule].in_flight(self.stage, self.mesh.pp, self.mesh.num_microbatches)
            if self.mesh.pp > 1
            else 1
        )

    @property
    def logits_per_rank(self) -> int:
        """Logits of one micro-batch on one tensor-parallel rank; 0 where the stage has no head."""
        head = self.layers[-1]
        if not isinstance(head, Head):
            return 0
        tokens = self.mesh.shards.tokens(self.mesh.micro_batch, self.setting.workload.seq_len)
        return tokens * -(-head.vocab // self.mesh.tp)
