"""What a sequence hands on to its next token, by hand for each mixer: keys and values, a latent, or a state."""

from __future__ import annotations

import pytest

from costmodel.spec import (
    Attention,
    Block,
    Embedding,
    GatedDeltaNet,
    KimiDeltaAttention,
    LatentAttention,
    LightningAttention,
    Mamba,
    Mamba2,
    Mlp,
)

ATTENTION = Attention(hidden=64, num_heads=8, num_kv_heads=2, head_dim=16)
"""Keys 2 x 16 and values as many: 64 numbers a token."""
WINDOW = 8


@pytest.mark.parametrize(("seq_len", "num_tokens"), [(1, 1), (7, 7), (8, 8), (100, 100)])
def test_attention_hands_on_all_keys_and_values(seq_len: int, num_tokens: int) -> None:
    assert ATTENTION.state_values(seq_len) == num_tokens * 64


def test_values_of_another_width() -> None:
    # 3 tokens x 2 heads x (16 + 24).
    assert ATTENTION.model_copy(update={"value_dim": 24}).state_values(3) == 240


def test_values_out_of_the_keys_projection_are_kept_apart() -> None:
    assert ATTENTION.model_copy(update={"value_is_key": True}).state_values(3) == ATTENTION.state_values(3) == 192


@pytest.mark.parametrize(("seq_len", "num_tokens"), [(3, 3), (7, 7), (8, 7), (100, 7)])
def test_a_window_of_8_holds_the_next_token_and_7_before(seq_len: int, num_tokens: int) -> None:
    assert ATTENTION.model_copy(update={"window": WINDOW}).state_values(seq_len) == num_tokens * 64


@pytest.mark.parametrize(("seq_len", "num_tokens"), [(3, 3), (7, 7), (8, 0), (9, 1), (100, 4)])
def test_a_chunk_of_8_begins_anew(seq_len: int, num_tokens: int) -> None:
    chunked = ATTENTION.model_copy(update={"window": WINDOW, "chunked": True})
    assert chunked.state_values(seq_len) == num_tokens * 64


def test_cross_attention_hands_on_the_other_stream() -> None:
    # 30 tokens of the encoder, however long the decoder's sequence is; as many as that where nothing is said.
    cross = ATTENTION.model_copy(update={"causal": False, "source_hidden": 64, "source_len": 30})
    assert cross.state_values(5) == cross.state_values(500) == 30 * 64
    assert cross.model_copy(update={"source_len": None}).state_values(5) == 5 * 64


def test_keys_of_an_earlier_layer_are_not_counted_again() -> None:
    assert ATTENTION.model_copy(update={"reuses_kv": True}).state_values(100) == 0


def test_latent_attention() -> None:
    # The latent of 12 and the rotary key of 4, of 10 tokens.
    latent = LatentAttention(
        hidden=64, num_heads=8, kv_lora_rank=12, qk_nope_head_dim=16, qk_rope_head_dim=4, v_head_dim=16
    )
    assert latent.state_values(10) == 160
    # An index compares with a key of 6 besides; a block that takes another's picks has none.
    assert latent.model_copy(update={"index_heads": 2, "index_head_dim": 6, "index_topk": 4}).state_values(10) == 220
    assert latent.model_copy(update={"index_heads": 0, "index_head_dim": 6, "index_topk": 4}).state_values(10) == 160


MIXERS = (
    # 128 channels x (16 numbers of state + 3 tokens that a convolution of 4 looks back on).
    (Mamba(hidden=64, inner=128, state_size=16, time_step_rank=4, conv_kernel=4), 128 * (16 + 3)),
    # State 4 x 32 x 16; convolved are 128 channels of input and 2 x 2 x 16 of B and C, of 3 tokens.
    (
        Mamba2(hidden=64, num_heads=4, head_dim=32, num_groups=2, state_size=16, conv_kernel=4, chunk_size=8),
        4 * 32 * 16 + (128 + 64) * 3,
    ),
    # 4 value heads with a state of 8 x 12; convolved are queries and keys 2 x 2 x 8 and values 4 x 12, of 3 tokens.
    (
        GatedDeltaNet(hidden=64, num_key_heads=2, num_value_heads=4, key_dim=8, value_dim=12, conv_kernel=4),
        4 * 8 * 12 + (32 + 48) * 3,
    ),
    # 4 heads with a state of 8 x 8; convolved are queries, keys and values 3 x 32, of 3 tokens.
    (KimiDeltaAttention(hidden=64, num_heads=4, head_dim=8, conv_kernel=4), 4 * 64 + 3 * 32 * 3),
    # 4 heads with a state of 8 x 8.
    (LightningAttention(hidden=64, num_heads=4, head_dim=8, block_size=16), 4 * 64),
)


@pytest.mark.parametrize(("mixer", "num_values"), MIXERS, ids=lambda value: getattr(value, "kind", None))
def test_a_state_does_not_grow_with_the_sequence(mixer: Mamba, num_values: int) -> None:
    assert mixer.state_values(10) == mixer.state_values(1000) == num_values


def test_a_block_has_the_state_of_its_parts() -> None:
    mamba, num_values = MIXERS[0]
    mlp = Mlp(hidden=64, ffn_hidden=128)
    block = Block(hidden=64, mixer=ATTENTION, beside=mamba, feed_forward=mlp)
    assert block.state_values(10) == 640 + num_values


def test_what_mixes_no_tokens_has_no_state() -> None:
    assert Mlp(hidden=64, ffn_hidden=128).state_values(100) == 0
    assert Embedding(vocab=10, hidden=64).state_values(100) == 0
