"""Copies around the collectives of ZeRO: out of the shards into one buffer, and out of a buffer into each weight.

FSDP2 shards every parameter by itself, so a layer is copied before and after each collective, with host work around
it. What that takes is known where a profile timed it; no formula stands for it elsewhere.
"""

from __future__ import annotations

from costmodel.price import Timed
from costmodel.setting import LayerView
from costmodel.spec import ShardingSample, Source

NOTHING = Timed(0.0, Source.ANALYTIC)


def around_gather(view: LayerView) -> Timed:
    """Beside one all-gather of the layer's weights."""
    sample = _sample(view)
    return NOTHING if sample is None else _scaled(view, sample, sample.forward.median_s)


def around_scatter(view: LayerView) -> Timed:
    """Beside one reduce-scatter of the layer's gradients: what a backward pass has beyond its own gather."""
    sample = _sample(view)
    if sample is None:
        return NOTHING
    return _scaled(view, sample, max(0.0, sample.backward.median_s - sample.forward.median_s))


def _sample(view: LayerView) -> ShardingSample | None:
    profile, stack = view.setting.profile_of_device, view.setting.stack
    if view.mesh.num_replicas == 1 or view.mesh.zero == 0 or not stack.copies_around_sharded_weights:
        return None
    return None if profile is None else profile.sharding


def _scaled(view: LayerView, sample: ShardingSample, time_s: float) -> Timed:
    """In proportion to the layer's parameters. It was timed as a difference, so it counts as fitted."""
    return Timed(time_s * view.num_params / sample.num_params, Source.FITTED)
