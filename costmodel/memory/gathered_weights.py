"""Weights gathered from their shards, or cast, for computing."""

from __future__ import annotations

from costmodel.memory.moments import Moments
from costmodel.memory.view import StageView

NAME = "gathered weights"
PREFETCHED_LAYERS = 2
"""Layers gathered at once under ZeRO-3: the one that computes and the one that is fetched."""


def item(view: StageView) -> Moments:
    """The whole stage in compute precision while ZeRO-1 or -2 of an fp32-storing stack runs; two layers under ZeRO-3.

    The last backward pass frees what was gathered, layer by layer. Replicated weights are cast only where they
    compute in another precision, and the copy stays.
    """
    whole_bytes = view.compute_bytes * view.num_params
    two_layers_bytes = min(PREFETCHED_LAYERS * view.compute_bytes * view.largest_layer_params, whole_bytes)
    if view.zero == 3:
        return Moments(NAME, two_layers_bytes, two_layers_bytes)
    if not view.setting.stack.weights_stored_in_fp32:
        return Moments(NAME)
    if view.zero > 0:
        return Moments(NAME, whole_bytes, two_layers_bytes)
    return Moments.always(NAME, whole_bytes if view.compute_bytes < 4 else 0)
