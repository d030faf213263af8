"""Tensor parallelism without sequence parallelism, and context parallelism, by hand."""

from __future__ import annotations

import pytest
from costmodel_samples import BLOCK, EMBEDDING, HEAD, cluster, model, setting, stack, view, workload
from hypothesis import given
from hypothesis import strategies as st

from costmodel import feasibility
from costmodel.memory import gradients, optimizer_state
from costmodel.predict import predict
from costmodel.spec import Attention, Block, Infeasible, LatentAttention, Mlp, Plan, Recompute, Schedule
from costmodel.spec.operations import DotProductAttention
from costmodel.spec.shards import WHOLE, Shards
from costmodel.terms import cp_exchange, saved_bytes, tp_collectives
from costmodel.terms.pipeline_transfer import transfer

STACK = stack()


def test_an_all_reduce_stands_in_the_place_of_scatter_and_gather():
    # 4 tokens x 8 x 2 bytes = 64. All-reduce over 2: 2 hops of 1 ms and 64 bytes at 1e6 bytes/s. Two halves of a block.
    whole = tp_collectives.price(view(BLOCK, tp=2, sp=False))
    assert whole.forward_s == pytest.approx(2 * (2e-3 + 64e-6))
    assert whole.backward_s == whole.forward_s
    sliced = tp_collectives.price(view(BLOCK, tp=2))
    # A gather and a scatter over 2 take 1 ms and 32 bytes each: as long together.
    assert sliced.forward_s == pytest.approx(whole.forward_s)


def test_embedding_adds_up_forward_and_the_head_backward():
    reduce_s = 2e-3 + 64e-6
    embedding, head = (
        tp_collectives.price(view(EMBEDDING, tp=2, sp=False)),
        tp_collectives.price(view(HEAD, tp=2, sp=False)),
    )
    assert (embedding.forward_s, embedding.backward_s) == (pytest.approx(reduce_s), 0.0)
    # Three all-reduces of 4 tokens x 4 bytes in the loss.
    assert (head.forward_s, head.backward_s) == (pytest.approx(3 * (2e-3 + 16e-6)), pytest.approx(reduce_s))


def test_norms_and_inputs_of_halves_are_kept_whole():
    # Two norms and two halves keep 8 numbers a token each; with slices half of it. 4 tokens x 32 / 2 x 2 bytes = 128.
    kept = [saved_bytes.saved(view(BLOCK, tp=2, sp=sp)).size_bytes for sp in (False, True)]
    assert kept[0] - kept[1] == 128
    assert saved_bytes.input_bytes(view(BLOCK, tp=2, sp=False)) == 64
    assert saved_bytes.input_bytes(view(BLOCK, tp=2)) == 32


def test_every_rank_of_a_stage_sends_the_whole():
    # Over nodes of 4: stages of 4 ranks meet at 10 ms and 1e5 bytes/s. 64 bytes, or 16 of each of 4 slices.
    of, degrees = setting(cluster=cluster(8)), {"tp": 4, "pp": 2, "num_microbatches": 2}
    assert transfer(of, view(BLOCK, of, sp=False, **degrees).mesh).time_s == pytest.approx(10e-3 + 64e-5)
    assert transfer(of, view(BLOCK, of, **degrees).mesh).time_s == pytest.approx(10e-3 + 16e-5)


def test_keys_and_values_go_round_the_ring():
    # 2 of 4 tokens x (4 keys + 4 values) x 2 bytes = 32 bytes over one hop: 1 ms + 32 us; 0.3 of it stays forward,
    # 0.6 of twice that backward.
    price = cp_exchange.price(view(BLOCK, cp=2))
    assert price.forward_s == pytest.approx(0.3 * 1.032e-3)
    assert price.backward_s == pytest.approx(0.6 * 2 * 1.032e-3)
    assert cp_exchange.price(view(BLOCK)).forward_s == 0


@pytest.mark.parametrize("changes", [{"window": 2}, {"window": 2, "chunked": True}, {"reuses_kv": True}])
def test_the_ring_carries_all_keys_and_values_in_every_layer(changes):
    block = Block(hidden=8, mixer=BLOCK.mixer.model_copy(update=changes), feed_forward=BLOCK.feed_forward)
    assert cp_exchange.price(view(block, cp=2)) == cp_exchange.price(view(BLOCK, cp=2))


def test_latent_attention_passes_on_what_was_projected_up():
    # DeepSeek-V3: 128 heads x (192 + 128) = 40,960 numbers a token. 2 of 4 tokens in 2 bytes: 163,840 bytes at 1e6
    # bytes/s after 1 ms; with tp 2 half of it.
    mixer = LatentAttention(
        hidden=7168,
        num_heads=128,
        q_lora_rank=1536,
        kv_lora_rank=512,
        qk_nope_head_dim=128,
        qk_rope_head_dim=64,
        v_head_dim=128,
    )
    block = Block(hidden=7168, mixer=mixer, feed_forward=Mlp(hidden=7168, ffn_hidden=18432))
    assert mixer.ring_width == 40960
    assert cp_exchange.price(view(block, cp=2)).forward_s == pytest.approx(0.3 * (1e-3 + 0.16384))
    assert cp_exchange.price(view(block, cp=2, tp=2)).forward_s == pytest.approx(0.3 * (1e-3 + 0.08192))


def test_keys_that_an_index_picks_are_refused():
    widths = {"hidden": 8, "kv_lora_rank": 4, "qk_nope_head_dim": 4, "qk_rope_head_dim": 2, "v_head_dim": 4}
    mixer = LatentAttention(num_heads=2, index_heads=2, index_head_dim=4, index_topk=2, **widths)
    block = Block(hidden=8, mixer=mixer, feed_forward=BLOCK.feed_forward)
    plan = Plan(framework="plain", cp=2, cut=(4,), recompute_layers=(Recompute.NONE,) * 4)
    refused = feasibility.context_splittable(model(block=block), workload(seq_len=8), plan)
    assert refused is not None
    assert refused.rule == "context_parallel_attention"


def test_replicas_of_a_sequence_shard_the_optimizer_and_add_up_gradients():
    of = setting(cluster=cluster(4), workload=workload(seq_len=8))
    plan = Plan(
        framework="plain", cp=4, zero=1, cut=(4,), recompute_layers=(Recompute.NONE,) * 4, schedule=Schedule.GPIPE
    )
    found = predict(of.model, of.workload, of.cluster, of.stack, plan)
    assert not isinstance(found, Infeasible)
    items = {item.name: item.steady_bytes for item in found.stages[0].items}
    # 1,352 parameters: moments and fp32 copy of a quarter of them; gradients are reduced to a quarter.
    assert of.model.params_total == 1352
    assert items["optimizer state"] == 12 * 1352 // 4
    assert any(term.name == "data-parallel traffic" for term in found.terms)
    assert gradients.NAME in items
    assert optimizer_state.MOMENT_BYTES_PER_PARAM == 8


@given(cp=st.sampled_from([1, 2, 4]), tp=st.sampled_from([1, 2]), window=st.sampled_from([None, 4]))
def test_ranks_share_the_work_of_a_sequence_evenly(cp, tp, window):
    attention = Attention(hidden=8, num_heads=2, num_kv_heads=2, head_dim=4, window=window)
    block = Block(hidden=8, mixer=attention, feed_forward=BLOCK.feed_forward)

    def flop(shards: Shards) -> float:
        return sum(operation.flop for operation in block.operations(3, 16, shards))

    assert cp * tp * flop(Shards(tp=tp, cp=cp)) == pytest.approx(flop(WHOLE))
    kept = [block.saved(3, 16, shards, STACK).values for shards in (WHOLE, Shards(cp=cp))]
    assert cp * kept[1] == pytest.approx(kept[0])


def test_pairs_under_a_causal_mask_are_shared_out_evenly():
    # 16 tokens: 128 pairs in all, half of the square, 32 for each of 4 ranks; 2 FLOP x 2 heads x (4 + 4) a pair.
    (attended,) = (op for op in BLOCK.operations(1, 16, Shards(cp=4)) if isinstance(op, DotProductAttention))
    assert attended.flop == 2 * 2 * 8 * 32


@pytest.mark.parametrize(
    ("seq_len", "sp", "said"),
    [
        (12, True, "seq_len = 12 is not a multiple of 2 x cp x tp = 8"),
        (10, False, "seq_len = 10 is not a multiple of 2 x cp = 4"),
    ],
)
def test_a_sequence_falls_into_two_slices_for_each_rank(seq_len, sp, said):
    plan = Plan(framework="plain", tp=2, sp=sp, cp=2, cut=(4,), recompute_layers=(Recompute.NONE,) * 4)
    refused = feasibility.context_splittable(model(), workload(seq_len=seq_len), plan)
    assert refused is not None
    assert refused.sentence == said


def test_layers_without_a_price_for_it_are_refused():
    crossing = Attention(hidden=8, num_heads=2, num_kv_heads=1, head_dim=4, source_len=4)
    block = Block(hidden=8, mixer=BLOCK.mixer, cross_attention=crossing, feed_forward=BLOCK.feed_forward, num_norms=3)
    plan = Plan(framework="plain", cp=2, cut=(4,), recompute_layers=(Recompute.NONE,) * 4)
    refused = feasibility.context_splittable(model(block=block), workload(seq_len=8), plan)
    assert refused is not None
    assert refused.rule == "context_parallel_attention"
