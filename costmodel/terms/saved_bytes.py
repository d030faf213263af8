"""Bytes a layer keeps from forward to backward: measured, scaled from a measurement, or counted tensor by tensor."""

from __future__ import annotations

from dataclasses import dataclass

from costmodel.setting import LayerView
from costmodel.spec import Embedding, LayerSample, Shards, Source
from costmodel.terms import measured_layer


@dataclass(frozen=True)
class Saved:
    """Bytes of one micro-batch kept for backward, and where the number comes from."""

    size_bytes: int
    source: Source


def saved(view: LayerView) -> Saved:
    """Measured, scaled from a measurement of the same layer and shard, or counted tensor by tensor."""
    sample = measured_layer.exact(view)
    if sample is not None:
        return Saved(sample.saved_bytes, Source.MEASURED)
    neighbour = measured_layer.nearest(view)
    if neighbour is not None and _scales(neighbour.sample, view):
        tokens = neighbour.sample.micro_batch * neighbour.sample.seq_len
        return Saved(round(neighbour.sample.saved_bytes * view.tokens / tokens), Source.FITTED)
    kept = view.layer.saved(view.mesh.micro_batch, view.seq_len, view.mesh.shards, view.setting.stack)
    return Saved(kept.size_bytes(view.setting.workload.precision.bytes), Source.ANALYTIC)


def input_bytes(view: LayerView) -> int:
    """What a recomputed layer keeps: its input, of which sequence parallelism leaves each rank a slice."""
    if isinstance(view.layer, Embedding):
        return 8 * view.tokens  # token numbers, int64
    return view.activation_bytes // view.mesh.shards.sequence


def _scales(sample: LayerSample, view: LayerView) -> bool:
    return sample.layer == view.layer and Shards(tp=sample.tp) == view.mesh.shards
