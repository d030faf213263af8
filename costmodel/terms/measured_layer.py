"""Layers that the profile timed: their passes as measured, or measurements of another shard as a calibration."""

from __future__ import annotations

from dataclasses import dataclass, replace

from costmodel.setting import LayerView
from costmodel.spec import Block, Layer, LayerSample, Shards


def exact(view: LayerView) -> LayerSample | None:
    """The sample of this very layer, shard, micro-batch, sequence and precision; None where there is none."""
    wanted = (view.layer, view.mesh.shards, view.mesh.micro_batch, view.seq_len)
    for sample in _samples(view):
        if (sample.layer, Shards(tp=sample.tp), sample.micro_batch, sample.seq_len) == wanted:
            return sample
    return None


TERMS = {
    "embedding": "embedding (timed)",
    "stem": "stem (timed)",
    "block": "blocks (timed)",
    "final_norm": "final norm (timed)",
    "dense": "projections (timed)",
    "head": "head and loss (timed)",
    "traced": "traced layers (timed)",
}
"""Names of the passes of timed layers, by layer kind."""


@dataclass(frozen=True)
class Neighbour:
    """The nearest sample of the same layer kind, and the view that would have predicted it."""

    sample: LayerSample
    view: LayerView


def nearest(view: LayerView) -> Neighbour | None:
    """The sample most like `view`: same layer before same kind, then nearest shard, then nearest number of tokens.

    Blocks are of one kind where their parts are: attention says nothing of a scan, nor a dense network of experts.
    """
    candidates = [sample for sample in _samples(view) if _kinds(sample.layer) == _kinds(view.layer)]
    if not candidates:
        return None

    def distance(sample: LayerSample) -> tuple[bool, float, float]:
        tokens = sample.micro_batch * sample.seq_len
        return sample.layer != view.layer, abs(sample.tp - view.mesh.tp), abs(tokens - view.tokens)

    sample = min(candidates, key=distance)
    mesh = replace(view.mesh, tp=sample.tp, sp=True, cp=1, ep=1, etp=None, micro_batch=sample.micro_batch)
    return Neighbour(sample, LayerView(view.setting, mesh, sample.layer, sample.seq_len))


def _kinds(layer: Layer) -> tuple[str, ...]:
    return (layer.kind, *(part.kind for part in layer.parts)) if isinstance(layer, Block) else (layer.kind,)


def _samples(view: LayerView) -> list[LayerSample]:
    """Samples that speak for the cluster's devices in the precision of the job."""
    profile = view.setting.profile_of_device
    if profile is None:
        return []
    return [sample for sample in profile.layers if sample.precision is view.setting.workload.precision]
