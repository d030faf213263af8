"""Every kind of layer can be timed: its passes have a name, and a sample of it is taken as it is."""

from __future__ import annotations

from typing import get_args

import pytest
from costmodel_samples import layer_sample, profile, setting, view

from costmodel.layer_price import price_layer
from costmodel.spec import Dense, FinalNorm, Layer, Norm, Source
from costmodel.spec.layers import Filter, Stem, Traced
from costmodel.terms.measured_layer import TERMS

KINDS = get_args(get_args(Layer)[0])
BEYOND_DECODERS = (
    FinalNorm(hidden=8, norm=Norm.LAYER),
    Stem(hidden=8, filters=(Filter(fan_in=12, out=8),)),
    Dense(hidden=8, out=4),
    Traced(name="Odd", hidden=8, params=64, flop_per_token=128.0, saved_values_per_token=24.0),
)


def test_each_kind_has_a_term_of_its_own():
    assert set(TERMS) == {kind.model_fields["kind"].default for kind in KINDS}
    assert len(set(TERMS.values())) == len(KINDS)


@pytest.mark.parametrize("layer", BEYOND_DECODERS, ids=lambda layer: layer.kind)
def test_what_was_timed_is_the_price(layer):
    sample = layer_sample(layer, 1, 2, 1000)
    price = price_layer(view(layer, setting(profile=profile(sample))))
    timed = next(one for one in price.passes if one.term == TERMS[layer.kind])
    assert timed.source is Source.MEASURED
    assert (timed.forward_s, timed.backward_s) == (sample.forward.median_s, sample.backward.median_s)
    assert price.saved_bytes == 1000
