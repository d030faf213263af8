"""Puts the terms of one layer together: measured where the profile has it, else computed from its operations."""

from __future__ import annotations

from dataclasses import replace

from costmodel.price import LayerPrice, PassPrice
from costmodel.setting import LayerView, Mesh, Setting
from costmodel.spec import LayerSample, Source
from costmodel.terms import (
    attention,
    convolution,
    cp_exchange,
    elementwise,
    expert_exchange,
    gemm,
    host,
    measured_layer,
    optimizer,
    saved_bytes,
    scan,
    tensor_dispatch,
    tied_table,
    tp_collectives,
    zero_traffic,
)

COMPUTE_TERMS = (gemm.price, attention.price, scan.price, convolution.price, elementwise.price)


def price_layers(setting: Setting, mesh: Mesh) -> tuple[LayerPrice, ...]:
    """The price of every layer of the model on `mesh`; equal layers share one."""
    prices = [price_layer(LayerView.of(setting, mesh, run)) for run in setting.model.distinct]
    return tuple(prices[place] for place in setting.model.distinct_index)


def price_layer(view: LayerView) -> LayerPrice:
    """All costs of one layer on one rank."""
    compute = _compute(view)
    exposed = (tp_collectives.price(view), cp_exchange.price(view), expert_exchange.price(view))
    forward_s, backward_s = sum(price.forward_s for price in compute), sum(price.backward_s for price in compute)
    dispatch = tensor_dispatch.price(view, forward_s, backward_s, sum(price.recompute_s for price in compute))
    around = zero_traffic.per_microbatch(view, forward_s, backward_s)
    passes = tuple(price for price in (*compute, *exposed, dispatch, around) if price.forward_s or price.backward_s)
    steps = (
        zero_traffic.per_step(view, backward_s),
        tied_table.price(view),
        optimizer.price(view),
    )
    saved = saved_bytes.saved(view)
    return LayerPrice(
        passes=passes,
        steps=tuple(price for price in steps if price.before_s or price.after_s),
        num_params=view.num_params,
        num_expert_params=view.num_expert_params,
        saved_bytes=saved.size_bytes,
        saved_source=saved.source,
        input_bytes=saved_bytes.input_bytes(view),
    )


def _compute(view: LayerView) -> tuple[PassPrice, ...]:
    computed = _from_operations(view)
    sample = measured_layer.exact(view)
    if sample is not None:
        return (_as_measured(view, sample, computed),)
    neighbour = measured_layer.nearest(view)
    if neighbour is None:
        return computed
    # What the formulas get wrong on this device they get wrong alike for the neighbour: scale by its error.
    there = _from_operations(neighbour.view)
    forward_factor = neighbour.sample.forward.median_s / sum(price.forward_s for price in there)
    backward_factor = neighbour.sample.backward.median_s / sum(price.backward_s for price in there)
    return tuple(
        replace(
            price,
            forward_s=price.forward_s * forward_factor,
            backward_s=price.backward_s * backward_factor,
            source=Source.FITTED,
            repeated_s=None if price.repeated_s is None else price.repeated_s * forward_factor,
        )
        for price in computed
    )


def _as_measured(view: LayerView, sample: LayerSample, computed: tuple[PassPrice, ...]) -> PassPrice:
    """The measured passes; what recomputation repeats is the share that the formulas give to it."""
    forward_s = sample.forward.median_s
    repeated_s = None
    whole_s, again_s = sum(price.forward_s for price in computed), sum(price.recompute_s for price in computed)
    if again_s < whole_s:
        repeated_s = forward_s * again_s / whole_s
    term = measured_layer.TERMS[view.layer.kind]
    return PassPrice(term, forward_s, sample.backward.median_s, Source.MEASURED, repeated_s)


def _from_operations(view: LayerView) -> tuple[PassPrice, ...]:
    device = tuple(term(view) for term in COMPUTE_TERMS)
    forward_s, backward_s = sum(price.forward_s for price in device), sum(price.backward_s for price in device)
    return (*device, host.price(view, forward_s, backward_s, sum(price.recompute_s for price in device)))
