"""Activations of all micro-batches in flight, and the working set of a recomputed layer."""

from __future__ import annotations

from costmodel.memory.moments import Moments
from costmodel.memory.view import StageView
from costmodel.spec import Recompute, Source


def item(view: StageView) -> Moments:
    """In-flight micro-batches times what each layer keeps; a recomputed layer keeps its input, and while its
    backward runs everything it would have kept."""
    kept = zip(view.kept_bytes_of_layers, view.in_flight_of_layers, strict=True)
    kept_bytes = sum(size_bytes * in_flight for size_bytes, in_flight in kept)
    working_bytes, sources = 0, [Source.ANALYTIC]
    for price, mode in zip(view.prices, view.recompute, strict=True):
        sources.append(price.saved_source if price.saved_source is not Source.MEASURED else Source.ANALYTIC)
        if mode is Recompute.FULL:
            working_bytes = max(working_bytes, price.saved_bytes)
    return Moments(
        "activations",
        backward_start_bytes=kept_bytes + working_bytes,
        backward_end_bytes=working_bytes,
        source=Source.worst(*sources),
    )
