"""Profile: what was measured on the hardware at hand, with its spread and provenance."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from costmodel.spec.base import Document, Spec
from costmodel.spec.cluster import ClusterSpec
from costmodel.spec.collective import Collective
from costmodel.spec.layers import Layer
from costmodel.spec.model import ModelSpec
from costmodel.spec.workload import Precision


class Spread(Spec):
    """A repeated measurement of a time: the median and the 10th and 90th percentile, in seconds."""

    median_s: float = Field(gt=0)
    low_s: float = Field(gt=0)
    high_s: float = Field(gt=0)
    num_samples: int = Field(ge=1)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.low_s <= self.median_s <= self.high_s:
            raise ValueError(f"low {self.low_s}, median {self.median_s}, high {self.high_s} are not in order")
        return self


class LayerSample(Spec):
    """One layer at one shard and micro-batch: time of its passes and bytes kept for backward.

    `layer` is the whole layer; the timed module holds the share of one of `tp` ranks, without its collectives.
    """

    layer: Layer
    tp: int = Field(ge=1)
    micro_batch: int = Field(ge=1)
    seq_len: int = Field(ge=1)
    precision: Precision
    forward: Spread
    backward: Spread
    saved_bytes: int = Field(ge=0)
    """Bytes that autograd keeps from forward to backward, parameters not counted."""


class CollectiveSample(Spec):
    """One collective between `num_ranks` real ranks."""

    op: Collective
    num_ranks: int = Field(ge=2)
    size_bytes: int = Field(gt=0)
    time: Spread


class OptimizerSample(Spec):
    """One optimizer step over `num_params` parameters held by a rank."""

    num_params: int = Field(gt=0)
    time: Spread


class DispatchSample(Spec):
    """Host time that tensor parallelism adds to each pass of a block: its collectives and its compute left out."""

    tp: int = Field(ge=2)
    forward: Spread
    backward: Spread


class ShardingSample(Spec):
    """What surrounds the collectives of ZeRO for a block of `num_params`: copies and host work, without the
    collectives themselves."""

    num_params: int = Field(gt=0)
    num_ranks: int = Field(ge=2)
    forward: Spread
    """Around the all-gather of the weights before a forward pass."""
    backward: Spread
    """Around the all-gather before and the reduce-scatter of the gradients after a backward pass."""


class Provenance(Spec):
    """On what and with what the measurement was made."""

    device: str
    driver: str
    """Driver or kernel version."""
    backend: str
    """Communication library: nccl or gloo."""
    versions: dict[str, str]
    date: str
    """ISO 8601, UTC."""
    num_ranks: int = Field(ge=1)
    threads_per_rank: int = Field(ge=1)


class Profile(Document):
    """Everything `planner profile` measured, and the model and machine it measured."""

    SCHEMA: ClassVar[str] = "profile/1"

    hf_config: dict[str, Any]
    """The raw model config, as read."""
    model: ModelSpec
    cluster: ClusterSpec
    """The machine the profile was made on; its links are the measured ones."""
    layers: tuple[LayerSample, ...]
    collectives: tuple[CollectiveSample, ...]
    optimizer: tuple[OptimizerSample, ...]
    dispatch: DispatchSample | None = None
    """None where no block was split."""
    sharding: ShardingSample | None = None
    """None where no block was sharded."""
    provenance: Provenance

    @property
    def variation_frac(self) -> float:
        """How far the repeated times of a layer lie apart: 10th to 90th percentile over the median, weighted by time.

        It says how steady the machine was while it was measured. 0 where no layer was timed.
        """
        spreads = [spread for sample in self.layers for spread in (sample.forward, sample.backward)]
        total_s = sum(spread.median_s for spread in spreads)
        return sum(spread.high_s - spread.low_s for spread in spreads) / total_s if spreads else 0.0
