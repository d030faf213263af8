"""Attention whose scores are written to memory, by hand: what it keeps, and what it takes."""

from __future__ import annotations

import pytest
from costmodel_samples import BLOCK, setting, stack, view

from costmodel.spec import Attention, Block
from costmodel.spec.shards import WHOLE, Shards
from costmodel.terms import attention

STORING = stack(score_bytes_kept=4.7)


def test_every_score_is_kept_hidden_ones_too():
    # 2 heads x 4 x 4 scores of each of 3 sequences, 4.7 bytes each, split over two tensor-parallel ranks.
    kept = BLOCK.saved(3, 4, Shards(tp=2), STORING).bytes
    assert kept == pytest.approx(3 * 2 * 16 * 4.7 / 2)
    assert BLOCK.saved(3, 4, WHOLE, stack()).bytes == 0
    whole, none = (BLOCK.saved(1, 4, WHOLE, each).size_bytes(2) for each in (STORING, stack()))
    assert whole - none == round(2 * 16 * 4.7)


def test_two_multiplications_and_the_traffic_of_scores():
    # Heads of 8: 2 FLOP x 2 heads x 16 pairs x (8 + 8) = 1,024, all pairs; 0.6 of 1e6 FLOP/s: 1.7067 ms. 32 scores of
    # 2 bytes at 1e6 bytes/s pass 6.6 times forward and 8.8 times backward.
    heads = Attention(hidden=8, num_heads=2, num_kv_heads=1, head_dim=8)
    price = attention.price(view(Block(hidden=8, mixer=heads), setting(stack=STORING)))
    products_s, one_pass_s = 1024 / 0.6e6, 64 / 1e6
    assert price.forward_s == pytest.approx(products_s + 6.6 * one_pass_s)
    assert price.backward_s == pytest.approx(2 * products_s + 8.8 * one_pass_s)


def test_heads_whose_width_is_no_multiple_of_eight_miss_the_tensor_cores():
    # Heads of 4: half the FLOP, twenty times as long.
    price = attention.price(view(BLOCK, setting(stack=STORING)))
    assert price.forward_s == pytest.approx(20 * 512 / 0.6e6 + 6.6 * 64 / 1e6)


def test_a_kernel_that_skips_no_pair_takes_its_factor():
    plain, slow = (
        attention.price(view(BLOCK, setting(stack=stack(attention_time_factor=factor)))) for factor in (1.0, 1.95)
    )
    assert slow.forward_s == pytest.approx(1.95 * plain.forward_s)
    assert slow.backward_s == pytest.approx(1.95 * plain.backward_s)
