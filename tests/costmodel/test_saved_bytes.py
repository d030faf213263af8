"""Bytes kept for backward by hand: each layer kind, each choice of a stack, and what a measurement says instead."""

from __future__ import annotations

import pytest
from costmodel_samples import BLOCK, EMBEDDING, HEAD, layer_sample, profile, setting, stack, view, workload

from costmodel.spec import Activation, Block, Norm, Precision, QkNorm, ScoreBias, Source
from costmodel.stacks import NATIVE_CUDA
from costmodel.terms.saved_bytes import input_bytes, saved
from tests.samples.blocks import attention_of, dense_block, with_sizes

LLAMA_70B = dense_block(hidden=8192, num_heads=64, num_kv_heads=8, head_dim=128, ffn_hidden=28672)


def test_block_of_a_plain_stack():
    # Numbers a token: two norms 16, inputs of attention and feed-forward 16, queries and output 16, keys and values 8,
    # gate, activation, up and product 64: 120, of two bytes, for 4 tokens: 960.
    found = saved(view(BLOCK))
    assert found.size_bytes == 960
    assert found.source is Source.ANALYTIC


@pytest.mark.parametrize(
    ("changes", "size_bytes"),
    [
        ({"norm_keeps_fp32_copy": True}, 960 + 256),  # two copies of 8 numbers of four bytes for 4 tokens
        ({"mlp_activation_fused": True}, 960 - 128),  # one tensor of 16 numbers fewer
        ({"gathered_input_saved": True}, 960),  # one rank gathers nothing
    ],
)
def test_block_of_another_stack(changes, size_bytes):
    assert saved(view(BLOCK, setting(stack=stack(**changes)))).size_bytes == size_bytes


def test_block_without_gate_keeps_two_tensors_of_the_network():
    # 960 - 2 x 16 numbers x 2 bytes x 4 tokens = 704; an activation alone has no product to be fused with.
    plain = dense_block(8, 2, 1, 4, 16, gated=False)
    assert saved(view(plain)).size_bytes == 704
    assert saved(view(plain, setting(stack=stack(mlp_activation_fused=True)))).size_bytes == 704


@pytest.mark.parametrize(
    ("activation", "tensors"),
    [
        (Activation.KERNEL, 2),  # input and result
        (Activation.RESULT, 1),  # result
        (Activation.QUICK_GELU, 3),  # input, sigmoid, result
        (Activation.GELU_NEW, 5),  # input, half of it, tangent, one more, result
        # input, its product with the first number, exponential less one, that less the input, a byte a number, result
        (Activation.XIELU, 5.5),
    ],
)
def test_an_activation_that_is_written_out(activation: Activation, tensors: float):
    # 448 without the network, and 16 columns x 2 bytes x 4 tokens for each tensor; fused it is two again.
    plain = dense_block(8, 2, 1, 4, 16, gated=False)
    network = plain.feed_forward.model_copy(update={"activation": activation})
    changed = plain.model_copy(update={"feed_forward": network})
    assert saved(view(changed)).size_bytes == 448 + 128 * tensors
    assert saved(view(changed, setting(stack=stack(mlp_activation_fused=True)))).size_bytes == 704


def test_norms_of_queries_and_keys():
    # Queries 8 and keys 4: 12 numbers x 4 tokens. A kernel keeps its input: 96 bytes. Written out it keeps 2 + 4 bytes
    # a number: 288 beside the 256 of the other copies; with the gain in fp32 4 + 4, that is 384.
    normed = with_mixer(qk_norm=QkNorm.HEAD)
    copies = setting(stack=stack(norm_keeps_fp32_copy=True))
    assert saved(view(normed)).size_bytes == 960 + 96
    assert saved(view(normed, copies)).size_bytes == 960 + 256 + 288
    in_fp32 = with_mixer(qk_norm=QkNorm.HEAD, qk_norm_kind=Norm.RMS_GAIN_IN_FP32)
    assert saved(view(in_fp32, copies)).size_bytes == 960 + 256 + 384


def test_gains_of_norms_in_fp32():
    # Two norms of 8 numbers keep 8 bytes a number for 4 tokens instead of 2: 384 more; a kernel keeps its input.
    block = BLOCK.model_copy(update={"norm": Norm.RMS_GAIN_IN_FP32})
    assert saved(view(block)).size_bytes == 960
    assert saved(view(block, setting(stack=stack(norm_keeps_fp32_copy=True)))).size_bytes == 960 + 384


@pytest.mark.parametrize(
    ("norm", "bytes_per_number"),
    [
        (Norm.LAYER, 2),  # a kernel keeps its input
        (Norm.LAYER_WRITTEN_OUT, 12),  # differences from the mean twice, and those divided, in four bytes each
        (Norm.FIXED_IN_FP32, 4),  # a copy
    ],
)
def test_layer_norms(norm: Norm, bytes_per_number: int):
    # Two norms of 8 numbers for 4 tokens, of which 960 counts two bytes each.
    block = BLOCK.model_copy(update={"norm": norm})
    copies = setting(stack=stack(norm_keeps_fp32_copy=True))
    assert saved(view(block)).size_bytes == 960
    assert saved(view(block, copies)).size_bytes == 960 + 64 * (bytes_per_number - 2)


def test_values_that_are_normalised_or_laid_out_for_every_head():
    # Values of 4 numbers for 4 tokens: a kernel keeps two bytes each, eager code four. Two heads of keys and of values
    # instead of one each: 4 + 4 numbers more for each token.
    copies = setting(stack=stack(norm_keeps_fp32_copy=True))
    assert saved(view(with_mixer(normalises_values=True))).size_bytes == 960 + 32
    assert saved(view(with_mixer(normalises_values=True), copies)).size_bytes == 960 + 256 + 64
    assert saved(view(with_mixer(repeats_kv=True))).size_bytes == 960 + 64


def test_values_keep_a_joint_projection_alive():
    # Queries 8 and keys 4 of 4 tokens, two bytes each, once more.
    assert saved(view(with_mixer(rotates_joint_projection=True))).size_bytes == 960 + 96


def with_mixer(**changes: object) -> Block:
    """The block with its attention changed."""
    return BLOCK.model_copy(update={"mixer": BLOCK.mixer.model_copy(update=changes)})


def test_tensor_ranks_share_everything_but_gathered_inputs():
    block = with_sizes(BLOCK, num_kv_heads=2)  # keys and values 16 instead of 8: 128 numbers a token
    assert saved(view(block)).size_bytes == 1024
    assert saved(view(block, tp=2)).size_bytes == 512
    # The two gathered inputs whole: 16 numbers instead of 8, 64 bytes more.
    assert saved(view(block, setting(stack=stack(gathered_input_saved=True)), tp=2)).size_bytes == 576


def test_a_stream_that_is_gathered_is_kept_whole_where_the_stack_keeps_it():
    # Two heads over 10 tokens of width 6. Queries, output and input 8 each for 4 tokens, keys and values 8 each for 10:
    # 256 numbers of two bytes, half of them on either rank. Gathered: 16 numbers instead of 8 for each input of three,
    # 192 bytes over the 4 tokens, and 10 x 6 numbers of the other stream, 120 bytes.
    cross = attention_of(BLOCK).model_copy(
        update={"num_kv_heads": 2, "causal": False, "source_hidden": 6, "source_len": 10}
    )
    block = with_sizes(BLOCK, num_kv_heads=2).model_copy(update={"cross_attention": cross})
    gathering = setting(stack=stack(gathered_input_saved=True))
    assert saved(view(block)).size_bytes == saved(view(block, gathering)).size_bytes == 1024 + 512
    assert saved(view(block, tp=2)).size_bytes == 512 + 256
    assert saved(view(block, gathering, tp=2)).size_bytes == 512 + 256 + 3 * 32 + 120


def test_llama_70b_block_in_eager_pytorch():
    # A token: norms 2 x (2 + 4) x 8192 = 98,304 bytes; gathered inputs 2 x 8192, queries and output 2 x 8192, keys and
    # values 2 x 1024, feed-forward 4 x 28672: 149,504 numbers = 299,008 bytes. 4,096 tokens: 1,552 MiB. Autograd was
    # seen to keep 1,555 MiB: also the softmax statistics (1 MiB) and the rotary tables (2 MiB).
    found = saved(view(LLAMA_70B, setting(stack=NATIVE_CUDA, workload=workload(seq_len=4096))))
    assert found.size_bytes == 1552 * 2**20
    assert found.size_bytes == pytest.approx(1555 * 2**20, rel=0.003)


def test_embedding_keeps_token_numbers():
    assert saved(view(EMBEDDING)).size_bytes == 8 * 4


def test_head_keeps_norm_input_and_log_probabilities():
    # A token: norm 8 x 2, gathered input 8 x 2, 10 logits x 4 bytes = 72; over 2 ranks 8 + 16 + 20 = 44; over 4, with
    # 3 rows of the vocabulary each, 4 + 16 + 12 = 32.
    assert saved(view(HEAD)).size_bytes == 72 * 4
    assert saved(view(HEAD, tp=2)).size_bytes == 44 * 4
    assert saved(view(HEAD, tp=4)).size_bytes == 32 * 4


def test_a_recomputed_layer_keeps_its_input():
    # 4 tokens x 8 x 2 bytes, a slice of it on each tensor rank; the embedding has token numbers.
    assert input_bytes(view(BLOCK)) == 64
    assert input_bytes(view(BLOCK, tp=2)) == 32
    assert input_bytes(view(BLOCK, micro_batch=3)) == 192
    assert input_bytes(view(BLOCK, setting(workload=workload(precision=Precision.FP32)))) == 128
    assert input_bytes(view(EMBEDDING)) == 32


def test_what_was_measured_is_taken():
    found = saved(view(BLOCK, setting(profile=profile(layer_sample(BLOCK, 1, 2, 1234)))))
    assert (found.size_bytes, found.source) == (1234, Source.MEASURED)


def test_a_measurement_of_the_same_shard_scales_with_the_tokens():
    # 1,000 bytes for 4 tokens: 3,000 for 3 sequences.
    here = setting(profile=profile(layer_sample(BLOCK, 1, 2, 1000)))
    found = saved(view(BLOCK, here, micro_batch=3))
    assert (found.size_bytes, found.source) == (3000, Source.FITTED)


def test_a_measurement_of_another_shard_or_shape_says_nothing():
    here = setting(profile=profile(layer_sample(BLOCK, 1, 2, 1000)))
    wider = with_sizes(BLOCK, ffn_hidden=32)
    assert saved(view(wider, here)) == saved(view(wider))
    assert saved(view(BLOCK, here, tp=2)) == saved(view(BLOCK, tp=2))


@pytest.mark.parametrize(
    ("bias", "extra"),
    [
        # 2 heads x 4 x 4 pairs x 2 bytes.
        ({"score_bias": ScoreBias.ZEROS}, 64),
        ({"score_bias": ScoreBias.ZEROS_OF_EARLIER}, 0),
        ({"score_bias": ScoreBias.LEARNED}, 64),
        # The number of its row for each pair, in 8 bytes.
        ({"score_bias": ScoreBias.LEARNED, "position_buckets": 32}, 64 + 128),
    ],
)
def test_a_table_of_biases_is_kept_once_for_all_sequences(bias: dict[str, object], extra: int):
    for micro_batch in (1, 3):
        assert saved(view(with_mixer(**bias), micro_batch=micro_batch)).size_bytes == micro_batch * 960 + extra
