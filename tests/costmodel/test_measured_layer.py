"""Layers that the profile timed: the very layer, the nearest one as a calibration, and profiles without a say."""

from __future__ import annotations

import pytest
from costmodel_samples import BLOCK, EMBEDDING, HEAD, cluster, layer_sample, profile, setting, stack, view, workload

from costmodel.layer_price import price_layer
from costmodel.spec import Block, LayerSample, Mamba2, Precision, Source
from costmodel.spec.shards import Shards
from costmodel.terms import measured_layer
from tests.samples.blocks import with_sizes

WIDE = with_sizes(BLOCK, ffn_hidden=32)


def chosen(layer, *samples: LayerSample, **degrees) -> LayerSample | None:
    found = measured_layer.nearest(view(layer, setting(profile=profile(*samples)), **degrees))
    return found.sample if found is not None else None


def test_the_very_layer_is_taken_as_timed():
    here = setting(profile=profile(layer_sample(BLOCK, 3.0, 7.0, 100), layer_sample(WIDE, 1.0, 1.0, 1)))
    price = price_layer(view(BLOCK, here))
    assert (price.forward_s, price.backward_s, price.saved_bytes) == (3.0, 7.0, 100)
    assert [(term.term, term.source) for term in price.passes] == [("blocks (timed)", Source.MEASURED)]


def test_launching_is_part_of_what_was_timed():
    here = setting(profile=profile(layer_sample(BLOCK, 3.0, 7.0, 100)), stack=stack(launch_s_per_layer=5.0))
    assert price_layer(view(BLOCK, here)).forward_s == 3.0


@pytest.mark.parametrize("other", [{"tp": 2}, {"micro_batch": 2}, {"seq_len": 8}, {"precision": Precision.FP32}])
def test_any_difference_makes_it_another_layer(other):
    here = setting(profile=profile(layer_sample(BLOCK, 3.0, 7.0, 100, **other)))
    assert measured_layer.exact(view(BLOCK, here)) is None


def test_the_nearest_sample_is_of_the_same_layer_then_shard_then_tokens():
    same, wide = layer_sample(BLOCK, 1, 1, 0, tp=4, micro_batch=9), layer_sample(WIDE, 1, 1, 0)
    assert chosen(BLOCK, wide, same) == same
    tp2, tp4 = layer_sample(BLOCK, 1, 1, 0, tp=2, micro_batch=9), layer_sample(BLOCK, 1, 1, 0, tp=4)
    assert chosen(BLOCK, tp4, tp2) == tp2
    two, eight = layer_sample(BLOCK, 1, 1, 0, micro_batch=2), layer_sample(BLOCK, 1, 1, 0, micro_batch=8)
    assert chosen(BLOCK, eight, two, micro_batch=3) == two
    assert chosen(HEAD, same, wide) is None


def test_a_neighbour_was_timed_with_all_experts_on_a_rank() -> None:
    here = setting(profile=profile(layer_sample(BLOCK, 1, 1, 0)))
    found = measured_layer.nearest(view(BLOCK, here, tp=2, cp=2, ep=4, etp=1, dp=4))
    assert found is not None
    assert found.view.mesh.shards == Shards()


def test_what_the_formulas_miss_of_the_neighbour_they_miss_of_the_layer():
    # By formula a block of one sequence takes 4.608 (gemm) + 0.512 (attention) + 1.408 (elementwise) = 6.528 ms;
    # timed were 13.056, twice as much. Two sequences take 13.056 by formula, so 26.112 ms.
    here = setting(profile=profile(layer_sample(BLOCK, 13.056e-3, 1.0, 100)))
    price = price_layer(view(BLOCK, here, micro_batch=2))
    assert price.forward_s == pytest.approx(26.112e-3)
    # Backward 9.216 + 1.6 + 2.304 = 13.12 ms by formula, 1 s timed: two sequences take 2 s.
    assert price.backward_s == pytest.approx(2.0)
    assert {term.source for term in price.passes} == {Source.FITTED}


def test_a_neighbour_calibrates_the_embedding_too():
    # By formula 0.128 ms a sequence; timed 1.28 ms: ten times.
    here = setting(profile=profile(layer_sample(EMBEDDING, 1.28e-3, 1.92e-3, 32)))
    price = price_layer(view(EMBEDDING, here, micro_batch=2))
    assert (price.forward_s, price.backward_s) == pytest.approx((2.56e-3, 3.84e-3))


def test_a_profile_of_another_device_or_precision_has_no_say():
    sampled = profile(layer_sample(BLOCK, 3.0, 7.0, 100))
    computed = price_layer(view(BLOCK))
    other = setting(profile=sampled, cluster=cluster(name="other"))
    assert price_layer(view(BLOCK, other)) == computed
    fp32 = setting(profile=sampled, workload=workload(precision=Precision.FP32))
    assert price_layer(view(BLOCK, fp32)) == price_layer(view(BLOCK, setting(workload=fp32.workload)))


def test_a_block_of_other_parts_says_nothing_of_this_one() -> None:
    scan = Mamba2(hidden=8, num_heads=2, head_dim=4, num_groups=1, state_size=3, conv_kernel=4, chunk_size=2)
    recurrent = Block(hidden=8, mixer=scan, num_norms=1)
    here = setting(profile=profile(layer_sample(BLOCK, 1.0, 2.0, 100)))
    assert measured_layer.nearest(view(WIDE, here)) is not None
    assert measured_layer.nearest(view(recurrent, here)) is None
