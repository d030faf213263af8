"""Traffic by hand: tp_collectives, tensor_dispatch, zero_traffic, pipeline_transfer; and the optimizer's own work."""

from __future__ import annotations

import pytest
from costmodel_samples import BLOCK, EMBEDDING, HEAD, cluster, model, profile, setting, spread, stack, view

from costmodel.layer_price import price_layer
from costmodel.price import Timed
from costmodel.spec import (
    Attention,
    Dense,
    DeviceKind,
    DispatchSample,
    Filter,
    FinalNorm,
    LightningAttention,
    Mamba,
    Mixer,
    Norm,
    OptimizerSample,
    QkNorm,
    ShardingSample,
    Source,
    Stem,
)
from costmodel.terms import optimizer, sharding_copies, tensor_dispatch, tied_table, tp_collectives, zero_traffic
from costmodel.terms.pipeline_transfer import transfer
from tests.samples.blocks import attention_of

ms = 1e-3


def in_node_s(num_ranks: int, size_bytes: float) -> float:
    """One round of a ring inside the node: n - 1 hops of 1 ms, (n - 1) / n of the bytes at 1e6 per second."""
    return (num_ranks - 1) * 1 * ms + size_bytes * (num_ranks - 1) / num_ranks / 1e6


def test_tp_collectives_of_a_block():
    # Hidden state: 4 tokens x 8 x 2 bytes = 64 bytes. Over 2 ranks 1 hop of 1 ms and 32 bytes at 1e6: 1.032 ms, two
    # gathers and two scatters in each pass.
    price = tp_collectives.price(view(BLOCK, tp=2))
    assert price.forward_s == pytest.approx(4 * 1.032 * ms)
    assert price.backward_s == pytest.approx(4 * 1.032 * ms)
    assert price.source is Source.ANALYTIC


def test_a_repetition_that_stops_early_leaves_out_the_last_scatter():
    here = setting(stack=stack(recompute_stops_early=True))
    assert tp_collectives.price(view(BLOCK, here, tp=2)).recompute_s == pytest.approx(3 * 1.032 * ms)
    assert tp_collectives.price(view(BLOCK, tp=2)).recompute_s == pytest.approx(4 * 1.032 * ms)


def test_tp_collectives_of_embedding_and_head():
    # The embedding scatters and gathers once. The head does too, and its loss reduces 4 tokens x 4 bytes three times:
    # an all-reduce is 2 x (1 ms + 8 bytes at 1e6) = 2.016 ms.
    embedding, head = tp_collectives.price(view(EMBEDDING, tp=2)), tp_collectives.price(view(HEAD, tp=2))
    assert (embedding.forward_s, embedding.backward_s) == pytest.approx((1.032 * ms, 1.032 * ms))
    assert (head.forward_s, head.backward_s) == pytest.approx(((1.032 + 3 * 2.016) * ms, 1.032 * ms))


def test_cross_attention_gathers_the_other_stream_and_scatters_its_gradient():
    # Three half blocks: six collectives of 1.032 ms. The other stream: 10 tokens x 6 x 2 bytes = 120, 1 ms + 60 bytes.
    block = BLOCK.model_copy(update={"cross_attention": to_another_stream()})
    price = tp_collectives.price(view(block, tp=2))
    assert (price.forward_s, price.backward_s) == pytest.approx(((6 * 1.032 + 1.060) * ms,) * 2)
    kept = block.model_copy(update={"cross_attention": to_another_stream(reuses_kv=True)})
    assert tp_collectives.price(view(kept, tp=2)).forward_s == pytest.approx(6 * 1.032 * ms)


@pytest.mark.parametrize(
    ("mixer", "size_bytes"),
    [
        # One sum in 4 bytes for queries and for keys of each of 4 tokens; of layer norms two. Norms of heads need none.
        (attention_of(BLOCK).model_copy(update={"qk_norm": QkNorm.WIDTH}), 32),
        (attention_of(BLOCK).model_copy(update={"qk_norm": QkNorm.WIDTH, "qk_norm_kind": Norm.LAYER}), 64),
        (attention_of(BLOCK).model_copy(update={"qk_norm": QkNorm.HEAD}), 0),
        # One sum for each token.
        (LightningAttention(hidden=8, num_heads=2, head_dim=4, block_size=4), 16),
        # B, C and the time step's latent, 3 + 3 + 2 numbers of 2 bytes a token.
        (Mamba(hidden=8, inner=16, state_size=3, time_step_rank=2, conv_kernel=4), 64),
    ],
)
def test_what_ranks_add_up_within_a_mixer(mixer: Mixer, size_bytes: int):
    # An all-reduce over 2 ranks: 2 x (1 ms + half of the bytes at 1e6), in either pass.
    price = tp_collectives.price(view(BLOCK.model_copy(update={"mixer": mixer}), tp=2))
    within_s = 2 * (1 * ms + size_bytes / 2 / 1e6) if size_bytes else 0
    assert (price.forward_s, price.backward_s) == pytest.approx((4 * 1.032 * ms + within_s,) * 2)


def test_layers_that_are_not_split_work_on_whole_sequences_between_slices():
    # A matrix from 8 to 20: its input of 64 bytes is gathered, then the gradient of its output, 4 x 20 x 2 = 160 bytes.
    # A stem reads pixels, so only the gradient of its output is. A norm has a slice as it is.
    stem = Stem(hidden=8, filters=(Filter(fan_in=12, out=8),))
    for layer, forward_s, backward_s in (
        (Dense(hidden=8, out=20), 1.032 * ms, 1.080 * ms),
        (stem, 0, 1.032 * ms),
        (FinalNorm(hidden=8, norm=Norm.RMS), 0, 0),
    ):
        price = tp_collectives.price(view(layer, tp=2))
        assert (price.forward_s, price.backward_s) == pytest.approx((forward_s, backward_s))


def to_another_stream(**changes: object) -> Attention:
    return attention_of(BLOCK).model_copy(update={"causal": False, "source_hidden": 6, "source_len": 10} | changes)


def test_one_tensor_rank_talks_to_nobody():
    crossed = BLOCK.model_copy(update={"cross_attention": to_another_stream(qk_norm=QkNorm.WIDTH)})
    for layer in (EMBEDDING, BLOCK, crossed, Dense(hidden=8, out=20), HEAD):
        price = tp_collectives.price(view(layer))
        assert (price.forward_s, price.backward_s) == (0, 0)


GATHER_S = in_node_s(4, 592 * 2)
"""A block's parameters in bf16: 1,184 bytes over 4 ranks, 3 ms + 0.888 ms."""
SCATTER_S = in_node_s(4, 592 * 4)
"""Its gradients in four bytes: 2,368 bytes, 3 ms + 1.776 ms."""


@pytest.mark.parametrize("pp", [1, 2])
@pytest.mark.parametrize(
    ("zero", "forward_s", "backward_s", "before_s", "after_s"),
    [
        (0, 0, 0, 0, 2 * SCATTER_S),
        (1, 0, 0, GATHER_S, SCATTER_S),
        (2, 0, SCATTER_S, GATHER_S, 0),
        (3, GATHER_S, GATHER_S + SCATTER_S, 0, 0),
    ],
)
def test_zero_traffic_without_overlap(pp, zero, forward_s, backward_s, before_s, after_s):
    assert pytest.approx((3.888 * ms, 4.776 * ms)) == (GATHER_S, SCATTER_S)
    layer = view(BLOCK, dp=4, zero=zero, pp=pp)
    passes, step = zero_traffic.per_microbatch(layer, 1.0, 2.0), zero_traffic.per_step(layer, 2.0)
    assert (passes.forward_s, passes.backward_s) == pytest.approx((forward_s, backward_s))
    assert (step.before_s, step.after_s) == pytest.approx((before_s, after_s))
    assert passes.recompute_s == 0


def test_copies_around_the_collectives_of_zero_are_taken_as_timed():
    # Timed for the block's 592 parameters over 4 ranks: 5 ms around a gather, 12 ms around gather and scatter. The
    # head's 88 parameters take 88 / 592 of it.
    timed = profile().model_copy(
        update={
            "sharding": ShardingSample(num_params=592, num_ranks=4, forward=spread(5 * ms), backward=spread(12 * ms))
        }
    )
    here = setting(profile=timed, stack=stack(copies_around_sharded_weights=True))
    passes = zero_traffic.per_microbatch(view(BLOCK, here, dp=4, zero=3), 1.0, 2.0)
    assert passes.forward_s == pytest.approx(GATHER_S + 5 * ms)
    assert passes.backward_s == pytest.approx(GATHER_S + SCATTER_S + 12 * ms)
    step = zero_traffic.per_step(view(BLOCK, here, dp=4, zero=1), 2.0)
    assert (step.before_s, step.after_s) == pytest.approx((GATHER_S + 5 * ms, SCATTER_S + 7 * ms))
    block, head = view(BLOCK, here, dp=4, zero=1), view(HEAD, here, dp=4, zero=1)
    assert sharding_copies.around_gather(block) == Timed(5 * ms, Source.FITTED)
    assert sharding_copies.around_gather(head).time_s == pytest.approx(5 * ms * 88 / 592)
    for without in (
        view(BLOCK, here, dp=4),
        view(BLOCK, here, zero=1),
        view(BLOCK, setting(profile=timed), dp=4, zero=1),
        view(BLOCK, setting(stack=here.stack), dp=4, zero=1),
    ):
        assert sharding_copies.around_scatter(without).time_s == 0


@pytest.mark.parametrize(("pp", "each"), [(1, True), (2, False)])
def test_some_frameworks_reduce_whole_gradients_after_every_micro_batch(pp, each):
    here = setting(stack=stack(reduces_whole_gradients_each_microbatch=True))
    layer = view(BLOCK, here, dp=4, pp=pp)
    reduce_s = 2 * SCATTER_S
    assert zero_traffic.per_microbatch(layer, 1.0, 2.0).backward_s == pytest.approx(reduce_s if each else 0)
    assert zero_traffic.per_step(layer, 2.0).after_s == pytest.approx(0 if each else reduce_s)


def test_zero_traffic_hides_behind_compute_as_far_as_the_stack_can():
    # Half of what runs beside 2 ms of compute hides: 3.888 - 0.5 x 2 = 2.888 ms forward. Beside 100 ms of backward half
    # of all traffic does: (3.888 + 4.776) / 2 = 4.332 ms.
    here = setting(stack=stack(param_gather_overlap_frac=0.5, grad_reduce_overlap_frac=0.25))
    passes = zero_traffic.per_microbatch(view(BLOCK, here, dp=4, zero=3), 2 * ms, 100 * ms)
    assert (passes.forward_s, passes.backward_s) == pytest.approx((2.888 * ms, 4.332 * ms))
    # A quarter of the reduction hides behind the last backward pass: 0.75 x 4.776 = 3.582 ms. The gather does not.
    step = zero_traffic.per_step(view(BLOCK, here, dp=4, zero=1), 100 * ms)
    assert (step.before_s, step.after_s) == pytest.approx((3.888 * ms, 3.582 * ms))


def test_data_parallel_ranks_lie_a_tensor_group_apart():
    # tp = 4 fills a node, so 2 data-parallel ranks meet between nodes: 10 ms + half of the bytes at 1e5. Head on one
    # of 4 tensor ranks: 3 rows of 8 and the norm make 32 parameters, 64 bytes gathered, 128 bytes reduced.
    layer = view(HEAD, setting(cluster=cluster(8)), tp=4, dp=2, zero=1)
    step = zero_traffic.per_step(layer, 1.0)
    assert (step.before_s, step.after_s) == pytest.approx((10 * ms + 0.32 * ms, 10 * ms + 0.64 * ms))
    assert step.source is Source.ASSUMED


def test_optimizer_moves_39_bytes_for_each_owned_parameter():
    # 592 x 39 = 23,088 bytes at 1e6 per second; a quarter of it where 4 ranks share the state.
    assert optimizer.price(view(BLOCK)).after_s == pytest.approx(23.088 * ms)
    assert optimizer.price(view(BLOCK, dp=4)).after_s == pytest.approx(23.088 * ms)
    for zero in (1, 2, 3):
        assert optimizer.price(view(BLOCK, dp=4, zero=zero)).after_s == pytest.approx(5.772 * ms)
    assert optimizer.price(view(BLOCK)).source is Source.FITTED


def test_a_measured_optimizer_step_is_scaled_from_the_nearest_size():
    # Owned: 592; nearest sample: 500 parameters in 10 ms, so 11.84 ms.
    samples = tuple(
        OptimizerSample(num_params=num_params, time=spread(time_s)) for num_params, time_s in [(500, 0.01), (5000, 1)]
    )
    price = optimizer.price(view(BLOCK, setting(profile=profile(optimizer=samples))))
    assert price.after_s == pytest.approx(11.84 * ms)
    assert price.source is Source.FITTED
    other = setting(profile=profile(optimizer=samples), cluster=cluster(name="other"))
    assert optimizer.price(view(BLOCK, other)).after_s == pytest.approx(23.088 * ms)


def test_pipeline_transfer_sends_one_slice_to_the_next_stage():
    # 2 sequences x 4 tokens x 8 x 2 bytes = 128 bytes. Stages next to each other inside a node: 1 ms + 0.128 ms.
    mesh = view(BLOCK, pp=4, micro_batch=2).mesh
    assert transfer(setting(), mesh).time_s == pytest.approx(1.128 * ms)
    # tp 2 x dp 2 lie between the stages, so the message leaves the node; each tensor rank sends half: 64 bytes at 1e5.
    mesh = view(BLOCK, tp=2, dp=2, pp=2, micro_batch=2).mesh
    assert transfer(setting(cluster=cluster(8)), mesh).time_s == pytest.approx(10.64 * ms)
    assert transfer(setting(), view(BLOCK).mesh).time_s == 0


def test_a_tied_table_in_a_pipeline_is_on_both_ends_and_reduced_between_them():
    # 10 x 8 parameters on the first and again on the last of 2 stages. Gradients of 320 bytes over 2 ranks in the
    # node: 2 x (1 ms + 160 bytes at 1e6) = 2.32 ms on either stage; blocks have no part in it.
    tied = HEAD.model_copy(update={"tied": True})
    here = setting(model=model(head=tied))
    apart, together = view(tied, here, pp=2), view(tied, here)
    assert (apart.num_params, together.num_params) == (88, 8)
    assert view(EMBEDDING, here, pp=2).num_params == 80
    assert tied_table.price(apart).after_s == pytest.approx(2.32 * ms)
    assert tied_table.price(view(EMBEDDING, here, pp=2)).after_s == pytest.approx(2.32 * ms)
    assert tied_table.price(view(BLOCK, here, pp=2)).after_s == 0
    assert tied_table.price(together).after_s == 0
    assert tied_table.price(view(HEAD, pp=2)).after_s == 0


def test_tensor_dispatch_is_paid_by_blocks_that_are_split():
    here = setting(stack=stack(tensor_dispatch_s_per_pass=0.02))
    split = tensor_dispatch.price(view(BLOCK, here, tp=2), 0.1, 0.2, 0.1)
    assert (split.forward_s, split.backward_s, split.source) == (0.02, 0.02, Source.ASSUMED)
    assert tensor_dispatch.price(view(BLOCK, here), 0.1, 0.2, 0.1).forward_s == 0
    assert tensor_dispatch.price(view(HEAD, here, tp=2), 0.1, 0.2, 0.1).forward_s == 0


def test_tensor_dispatch_is_taken_as_timed():
    sample = DispatchSample(tp=2, forward=spread(0.03), backward=spread(0.05))
    timed = profile().model_copy(update={"dispatch": sample})
    here = setting(stack=stack(tensor_dispatch_s_per_pass=0.02), profile=timed)
    split = tensor_dispatch.price(view(BLOCK, here, tp=2), 0.1, 0.2, 0.1)
    assert (split.forward_s, split.backward_s, split.source) == (0.03, 0.05, Source.FITTED)
    fused = setting(stack=stack(tensor_dispatch_s_per_pass=None), profile=timed)
    assert tensor_dispatch.price(view(BLOCK, fused, tp=2), 0.1, 0.2, 0.1).forward_s == 0


def test_a_gpu_works_on_while_the_host_dispatches():
    # The block's passes take 6.528 and 13.12 ms on the device (see test_predict). With 1 ms to launch and 20 ms to
    # dispatch the host takes 21 ms: (6.528^6 + 21^6)^(1/6) = 21.003 ms, and (13.12^6 + 21^6)^(1/6) = 21.203 ms.
    gpus = cluster(kind=DeviceKind.CUDA)
    here = setting(cluster=gpus, stack=stack(tensor_dispatch_s_per_pass=20 * ms, launch_s_per_layer=1 * ms))
    price = price_layer(view(BLOCK, here))
    split = tensor_dispatch.price(view(BLOCK, here, tp=2), price.forward_s, price.backward_s, price.recompute_s)
    assert price.forward_s + split.forward_s == pytest.approx(21.003 * ms, rel=1e-4)
    assert price.backward_s + split.backward_s == pytest.approx(21.203 * ms, rel=1e-4)
    hidden = tensor_dispatch.price(view(BLOCK, here, tp=2), 2.0, 0.5 * ms, 2.0)
    assert hidden.forward_s == pytest.approx(0, abs=1e-9)
    assert hidden.backward_s == pytest.approx(20.5 * ms)


def test_dispatch_is_left_out_where_no_profile_of_this_device_timed_it():
    sample = DispatchSample(tp=2, forward=spread(0.03), backward=spread(0.05))
    unknown, timed = stack(tensor_dispatch_s_per_pass=0.0), profile().model_copy(update={"dispatch": sample})
    assert tensor_dispatch.is_left_out(setting(stack=unknown), 2)
    assert tensor_dispatch.is_left_out(setting(stack=unknown, profile=timed, cluster=cluster(name="other")), 2)
    assert not tensor_dispatch.is_left_out(setting(stack=unknown, profile=timed), 2)
    assert not tensor_dispatch.is_left_out(setting(stack=unknown), 1)
    assert not tensor_dispatch.is_left_out(setting(stack=stack(tensor_dispatch_s_per_pass=None)), 2)
