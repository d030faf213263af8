"""What a memory term looks at: one rank of the pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, repeat

from costmodel.price import LayerPrice
from costmodel.schedules import in_flight
from costmodel.setting import Mesh, Setting
from costmodel.spec import Head, Layer, Recompute


@dataclass(frozen=True)
class StageView:
    """The layers of pipeline rank `stage`, each with its price and recompute mode, stage after stage."""

    setting: Setting
    mesh: Mesh
    stage: int
    layers: tuple[Layer, ...]
    prices: tuple[LayerPrice, ...]
    recompute: tuple[Recompute, ...]
    chunk_sizes: tuple[int, ...] = ()
    """Layers of each stage where the rank holds several; empty for one."""

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
    def kept_bytes_of_layers(self) -> tuple[int, ...]:
        """What each layer keeps of a micro-batch in flight: its input alone where it is recomputed."""
        return tuple(
            price.input_bytes if mode is Recompute.FULL else price.saved_bytes
            for price, mode in zip(self.prices, self.recompute, strict=True)
        )

    @property
    def _chunk_sizes(self) -> tuple[int, ...]:
        return self.chunk_sizes or (len(self.layers),)

    @property
    def in_flight(self) -> int:
        """Micro-batches whose activations the stage holds at its peak; of several stages, its first one."""
        return self.in_flight_of_chunks[0]

    @cached_property
    def in_flight_of_chunks(self) -> tuple[int, ...]:
        """The same for each stage of the rank, when it holds most."""
        mesh, kept = self.mesh, iter(self.kept_bytes_of_layers)
        weights = tuple(sum(islice(kept, size)) for size in self._chunk_sizes)
        return tuple(
            in_flight(mesh.schedule, chunk * mesh.pp + self.stage, mesh.pp, mesh.num_microbatches, weights)
            for chunk in range(len(weights))
        )

    @property
    def in_flight_of_layers(self) -> Iterator[int]:
        """The same for each layer."""
        for size, count in zip(self._chunk_sizes, self.in_flight_of_chunks, strict=True):
            yield from repeat(count, size)

    @property
    def logits_per_rank(self) -> int:
        """Logits of one micro-batch on one tensor-parallel rank; 0 where the stage has no head."""
        head = self.layers[-1]
        if not isinstance(head, Head):
            return 0
        tokens = self.mesh.shards.tokens(self.mesh.micro_batch, self.setting.workload.seq_len)
        return tokens * -(-head.vocab // self.mesh.tp)
