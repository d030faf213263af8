"""Terms of a pass by hand: gemm, attention, elementwise, host. The figures they start from are the samples'."""

from __future__ import annotations

import pytest
from costmodel_samples import BLOCK, EMBEDDING, HEAD, cluster, setting, stack, view, workload

from costmodel.spec import Filter, LatentAttention, Moe, Precision, ScoreBias, Source, Stem
from costmodel.terms import attention, elementwise, gemm, host, tp_collectives
from tests.samples.blocks import with_sizes

ms = 1e-3


def slow_memory(bytes_per_s: float):
    return setting(cluster=cluster(mem_bandwidth_bytes_per_s=bytes_per_s / 0.85))


def test_gemm_bound_by_arithmetic():
    # 4 tokens. qkv 2 x 4 x 16 x 8 = 1,024 FLOP, output 2 x 4 x 8 x 8 = 512, gate and up 2 x 4 x 32 x 8 = 2,048,
    # down 2 x 4 x 8 x 16 = 1,024: 4,608 at 1e6 per second; backward twice that.
    price = gemm.price(view(BLOCK))
    assert price.forward_s == pytest.approx(4.608 * ms)
    assert price.backward_s == pytest.approx(9.216 * ms)
    assert price.source is Source.FITTED


def test_gemm_bound_by_memory():
    # Numbers moved (m k + k n + m n): qkv 32 + 128 + 64 = 224, output 32 + 64 + 32 = 128, gate and up
    # 32 + 256 + 128 = 416, down 64 + 128 + 32 = 224: 992 of two bytes = 1,984 bytes at 1e3 per second.
    assert gemm.price(view(BLOCK, slow_memory(1e3))).forward_s == pytest.approx(1.984)


def test_gemm_takes_the_larger_of_both_for_each_multiplication():
    # At 4.2e5 bytes/s: qkv 448 bytes = 1.067 ms > 1.024, output 256 = 0.610 > 0.512, down 448 = 1.067 > 1.024, but gate
    # and up 832 = 1.981 < 2.048.
    expected_s = (448 + 256 + 448) / 4.2e5 + 2.048 * ms
    assert gemm.price(view(BLOCK, slow_memory(4.2e5))).forward_s == pytest.approx(expected_s)


def test_gemm_of_one_of_two_tensor_ranks():
    # One of two heads, one of two key-value heads, 8 ffn columns, all 4 tokens: qkv 2 x 4 x 12 x 8 = 768 FLOP, output
    # 2 x 4 x 8 x 4 = 256, gate and up 2 x 4 x 16 x 8 = 1,024, down 2 x 4 x 8 x 8 = 512: 2,560. Head: half of the
    # vocabulary, 2 x 4 x 5 x 8 = 320.
    block = with_sizes(BLOCK, num_kv_heads=2)
    assert gemm.price(view(block, tp=2)).forward_s == pytest.approx(2.560 * ms)
    assert gemm.price(view(HEAD, tp=2)).forward_s == pytest.approx(0.320 * ms)


def test_gemm_in_training_reaches_nine_tenths_of_published_figures():
    published = setting(cluster=cluster(source=Source.ANALYTIC))
    price = gemm.price(view(BLOCK, published))
    assert price.forward_s == pytest.approx(4.608 * ms / 0.9)
    assert price.source is Source.ANALYTIC


def test_gemm_in_fp32_uses_the_rate_of_fp32():
    # Half the rate, and four bytes a number: 3,968 bytes = 3.968 ms in all, still less than 9.216 ms of arithmetic.
    fp32 = setting(workload=workload(precision=Precision.FP32))
    assert gemm.price(view(BLOCK, fp32)).forward_s == pytest.approx(9.216 * ms)


def test_attention_counts_the_causal_half():
    # Two GEMMs of half of 4 x 4 scores: 2 x 2 x (4 x 4 / 2) x 4 = 128 FLOP a head, 2 heads: 256 at 5e5 per second.
    # Backward: 2.5 times the FLOP at 0.8 of the rate.
    price = attention.price(view(BLOCK))
    assert price.forward_s == pytest.approx(0.512 * ms)
    assert price.backward_s == pytest.approx(0.512 * ms * 2.5 / 0.8)


def test_attention_grows_with_the_square_of_the_sequence():
    once = attention.price(view(BLOCK)).forward_s
    assert attention.price(view(BLOCK, setting(workload=workload(seq_len=8)))).forward_s == pytest.approx(4 * once)
    assert attention.price(view(BLOCK, micro_batch=2)).forward_s == pytest.approx(2 * once)
    assert attention.price(view(EMBEDDING)).forward_s == 0


@pytest.mark.parametrize(("bias", "backward"), [(ScoreBias.LEARNED, 2), (ScoreBias.ZEROS_OF_EARLIER, 1)])
def test_biases_of_scores_are_read_and_keep_the_kernel_from_skipping_pairs(bias: ScoreBias, backward: int):
    # All 16 pairs instead of 8: 512 FLOP at 5e5 per second. A table of 2 heads x 16 pairs x 2 bytes for each sequence
    # is read forward and backward, and of learned ones the gradient written: 64 bytes each at 1e6 per second.
    block, plain = with_sizes(BLOCK, score_bias=bias), view(BLOCK)
    assert attention.price(view(block)).forward_s == pytest.approx(1.024 * ms)
    assert attention.price(view(block)).backward_s == pytest.approx(1.024 * ms * 2.5 / 0.8)
    extra = elementwise.price(view(block)).forward_s - elementwise.price(plain).forward_s
    assert extra == pytest.approx(0.064 * ms)
    extra = elementwise.price(view(block)).backward_s - elementwise.price(plain).backward_s
    assert extra == pytest.approx(backward * 0.064 * ms)
    # The attention kernel reads them once, however little the stack fuses: as many bytes under a factor of 2.
    unfused = setting(stack=stack(elementwise_traffic_factor=2.0))
    extra = elementwise.price(view(block, unfused)).forward_s - elementwise.price(view(BLOCK, unfused)).forward_s
    assert extra == pytest.approx(0.064 * ms)
    both = elementwise.price(view(block, micro_batch=2)).forward_s
    assert both == pytest.approx(2 * elementwise.price(view(block)).forward_s)


def test_what_picks_keys_has_no_backward_pass():
    # 4 tokens. Scores of one head of 4 + 1 for half of 16 pairs: 80 FLOP at 5e5; queries 8 x 4 and key and weight
    # 8 x (4 + 1): 2 x 4 x 72 = 576 FLOP at 1e6; 8 scores written and read in 4 bytes: 64 bytes at 1e6.
    plain = LatentAttention(
        hidden=8, num_heads=2, kv_lora_rank=4, qk_nope_head_dim=2, qk_rope_head_dim=2, v_head_dim=4, index_topk=4
    )
    index = plain.model_copy(update={"index_heads": 1, "index_head_dim": 4})
    for term, forward_s in ((attention, 80 / 5e5), (gemm, 0.576 * ms), (elementwise, 0.064 * ms)):
        with_index, without = (term.price(view(BLOCK.model_copy(update={"mixer": mixer}))) for mixer in (index, plain))
        assert with_index.forward_s - without.forward_s == pytest.approx(forward_s)
        assert with_index.backward_s == pytest.approx(without.backward_s)


def test_pixels_need_no_gradient():
    # 4 tokens. 12 numbers into 8 and 8 into 8: 768 and 512 FLOP at 1e6 per second. Backward the second one has both
    # gradients, the first one that of its weight.
    stem = Stem(hidden=8, filters=(Filter(fan_in=12, out=8), Filter(fan_in=8, out=8)))
    price = gemm.price(view(stem))
    assert (price.forward_s, price.backward_s) == pytest.approx((1.280 * ms, (768 + 2 * 512) * 1e-6))


def test_elementwise_of_a_block():
    # Forward 4 x (10 x 8 + 2 x 32 + 2 x 16) = 704 numbers of two bytes, backward 4 x (16 x 8 + 3.5 x 32 + 3 x 16) =
    # 1,152, at 1e6 bytes/s.
    price = elementwise.price(view(BLOCK))
    assert price.forward_s == pytest.approx(1.408 * ms)
    assert price.backward_s == pytest.approx(2.304 * ms)


def test_elementwise_of_one_of_two_tensor_ranks_works_on_half_of_everything():
    # The norms have half of the sequence, the rest half of the width.
    assert elementwise.price(view(with_sizes(BLOCK, num_kv_heads=2), tp=2)).forward_s == pytest.approx(
        elementwise.price(view(with_sizes(BLOCK, num_kv_heads=2))).forward_s / 2
    )


def test_elementwise_of_embedding_and_head():
    # Embedding: 2 x 32 numbers of two bytes forward, 3 x 32 backward. Head: 4 x 32 and 6 x 32 numbers of two bytes and,
    # of 40 logits, 2.5 and 2 times four bytes: 256 + 400 and 384 + 320 bytes.
    embedding, head = elementwise.price(view(EMBEDDING)), elementwise.price(view(HEAD))
    assert (embedding.forward_s, embedding.backward_s) == pytest.approx((0.128 * ms, 0.192 * ms))
    assert (head.forward_s, head.backward_s) == pytest.approx((0.656 * ms, 0.704 * ms))


def test_elementwise_traffic_of_an_eager_stack_leaves_the_fp32_logits_alone():
    # Twice the 256 bytes, and the same 400 for the logits.
    eager = setting(stack=stack(elementwise_traffic_factor=2.0))
    assert elementwise.price(view(HEAD, eager)).forward_s == pytest.approx(0.912 * ms)


def test_host_adds_the_soft_maximum():
    # Equal device and host time t: (2 t^6)^(1/6) - t = (2^(1/6) - 1) t. Twice the host time: (1 + 64)^(1/6) t - t.
    launching = setting(stack=stack(launch_s_per_layer=2.0))
    price = host.price(view(BLOCK, launching), 2.0, 1.0, 1.0)
    assert price.forward_s == pytest.approx(2 * (2 ** (1 / 6) - 1))
    assert price.backward_s == pytest.approx(65 ** (1 / 6) - 1)
    # Half of the device time is repeated, with all of the launching.
    assert price.recompute_s == pytest.approx(65 ** (1 / 6) - 1)
    assert price.source is Source.ASSUMED


def test_host_adds_nothing_to_a_slow_device_and_nothing_to_embedding_and_head():
    launching = setting(stack=stack(launch_s_per_layer=1.0))
    assert host.price(view(BLOCK, launching), 100.0, 100.0, 100.0).forward_s == pytest.approx(0, abs=1e-9)
    assert host.price(view(EMBEDDING, launching), 0.1, 0.1, 0.1).forward_s == pytest.approx(0)
    assert host.price(view(HEAD, launching), 0.1, 0.1, 0.1).backward_s == pytest.approx(0)
    assert host.price(view(BLOCK), 0.0, 0.0, 0.0).forward_s == 0


def test_host_time_per_step_is_the_stacks():
    assert host.per_step(setting(stack=stack(step_overhead_s=0.5))).after_s == 0.5


def test_a_repetition_ends_with_the_last_result_that_backward_needs() -> None:
    """torch's checkpoint repeats 0.82 of the multiplications of a Llama block, and all of a Mixtral or BERT block."""
    here = setting(stack=stack(recompute_stops_early=True))
    experts = Moe(hidden=8, num_experts=4, experts_per_token=2, ffn_hidden=16)
    routed = BLOCK.model_copy(update={"feed_forward": experts})
    behind = BLOCK.model_copy(update={"norms_output": True})
    sandwich = BLOCK.model_copy(update={"num_norms": 4})
    assert gemm.price(view(BLOCK, here)).recompute_s < gemm.price(view(BLOCK, here)).forward_s
    for block in (routed, behind, sandwich):
        assert gemm.price(view(block, here)).recompute_s == gemm.price(view(block, here)).forward_s
        assert tp_collectives.price(view(block, here, tp=1)).repeated_s is None
