"""Model FLOP by hand, and what they count."""

from __future__ import annotations

import pytest
from costmodel_samples import model, workload

from costmodel.model_flop import model_flop_per_step
from costmodel.spec import Embedding, Filter, Head, LayerRun, Part, Stem
from tests.samples.blocks import dense_block


def test_model_flop_of_the_sample():
    # A sequence of 4 tokens: each block 4,608 in GEMMs and 256 in attention, the head 640: 2 x 4,864 + 640 = 10,368;
    # three times that with backward, for 5 sequences.
    assert model_flop_per_step(model(num_blocks=2), workload(global_batch=5)) == 3 * 10368 * 5


def test_what_needs_no_gradient_has_no_backward_flop():
    # A tower of 2 patches: 12 numbers into 8 make 2 x 2 x 12 x 8 = 384 FLOP, and as many again for the gradient of the
    # weight; pixels need none.
    stem = LayerRun(part=Part.VISION, layer=Stem(hidden=8, filters=(Filter(fan_in=12, out=8),)), num_tokens=2)
    seeing = model(runs=(stem, *model(num_blocks=2).runs))
    assert model_flop_per_step(seeing, workload()) == 3 * 10368 + 2 * 384


def test_six_flop_a_token_and_parameter_where_matrices_dominate():
    # A block of 12 h^2 parameters, 1 token: attention and norms vanish beside 6 x parameters.
    hidden = 4096
    block = dense_block(hidden=hidden, num_heads=32, num_kv_heads=32, head_dim=128, ffn_hidden=4 * hidden, gated=False)
    runs = (
        LayerRun(part=Part.EMBEDDING, layer=Embedding(vocab=1, hidden=hidden)),
        LayerRun(part=Part.BLOCKS, layer=block),
        LayerRun(part=Part.HEAD, layer=Head(vocab=1, hidden=hidden)),
    )
    flop = model_flop_per_step(model(runs=runs), workload(seq_len=1))
    assert flop == pytest.approx(6 * 12 * hidden**2, rel=1e-3)
