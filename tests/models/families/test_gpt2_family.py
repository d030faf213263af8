"""GPT-2 and its relations: counts by hand, windows of GPT-Neo, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from expert_samples import block_params, published, reader, windows

from costmodel.errors import BadInputError
from costmodel.spec import Block

SIZES: dict[str, Any] = {"n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 6, "vocab_size": 10}
NEO_SIZES: dict[str, Any] = {
    "hidden_size": 16,
    "num_layers": 4,
    "num_heads": 4,
    "max_position_embeddings": 6,
    "vocab_size": 10,
    "attention_types": [[["global", "local"], 2]],
}

gpt2 = reader("GPT2LMHeadModel", SIZES)
bigcode = reader("GPTBigCodeForCausalLM", SIZES)
gptj = reader("GPTJForCausalLM", SIZES, rotary_dim=4)
codegen = reader("CodeGenForCausalLM", SIZES, rotary_dim=4)
neo = reader("GPTNeoForCausalLM", NEO_SIZES)

# Four matrices of 16 x 16 with biases: 1088. A feed-forward network of 16 x 64 + 64 and 64 x 16 + 16: 2128.
ATTENTION, NETWORK, NORM = 1088, 2128, 32


def test_gpt2_by_hand() -> None:
    model = gpt2()
    assert block_params(model) == [ATTENTION + NETWORK + 2 * NORM] * 2
    # 10 tokens and 6 positions of width 16; the head is the table of the tokens, with a norm.
    assert model.params_by_part == {"embedding": 256, "blocks": 2 * 3280, "head": NORM}
    assert gpt2(tie_word_embeddings=False).params_by_part["head"] == NORM + 160
    assert model.max_seq_len == 6


def test_the_inner_width_of_gpt2_may_be_given() -> None:
    assert gpt2(n_inner=None) == gpt2()
    # 16 x 10 + 10 and 10 x 16 + 16.
    assert block_params(gpt2(n_inner=10)) == [ATTENTION + 346 + 2 * NORM] * 2


def test_sizes_of_gpt2_may_have_the_names_that_the_class_maps() -> None:
    assert gpt2(n_embd=..., hidden_size=16, n_layer=..., num_hidden_layers=2) == gpt2()
    with pytest.raises(BadInputError, match="n_layer is 2, but num_hidden_layers is 3"):
        gpt2(num_hidden_layers=3)


def test_cross_attention_of_gpt2_is_another_attention_and_norm() -> None:
    model = gpt2(add_cross_attention=True)
    assert block_params(model) == [2 * ATTENTION + NETWORK + 3 * NORM] * 2
    assert isinstance(model.blocks[0], Block)
    assert model.blocks[0].cross_attention is not None


def test_bigcode_has_one_head_for_keys_and_values() -> None:
    # Queries and output 16 x 16 + 16 each, keys and values 16 x 4 + 4 each: 680.
    assert block_params(bigcode()) == [680 + NETWORK + 2 * NORM] * 2
    assert block_params(bigcode(multi_query=False)) == block_params(gpt2())
    with pytest.raises(BadInputError, match="add_cross_attention is true"):
        bigcode(add_cross_attention=True)


@pytest.mark.parametrize("read", [gptj, codegen])
def test_gptj_and_codegen_have_halves_side_by_side(read: Any) -> None:
    model = read()
    # No biases in attention: 1024; one norm.
    assert block_params(model) == [1024 + NETWORK + NORM] * 2
    assert all(block.parallel for block in model.blocks)
    # A head of its own with a bias; no positions.
    assert model.params_by_part["head"] == 160 + 10 + NORM
    assert model.params_by_part["embedding"] == 160
    with pytest.raises(BadInputError, match="rotary_dim is 3"):
        read(rotary_dim=3)
    with pytest.raises(BadInputError, match="rotary_dim is 6"):
        read(rotary_dim=6)


def test_codegen_needs_heads_in_four_shards() -> None:
    with pytest.raises(BadInputError, match="n_head is 2, but must be a multiple of 4"):
        codegen(n_head=2)


def test_gpt_neo_by_hand() -> None:
    model = neo()
    # Four matrices of 16 x 16, of which the last one has a bias: 1040.
    assert block_params(model) == [1040 + NETWORK + 2 * NORM] * 4
    assert windows(model) == [None, 256, None, 256]
    assert windows(neo(window_size=3)) == [None, 3, None, 3]
    assert windows(neo(attention_layers=["local", "global", "global", "global"])) == [256, None, None, None]


@pytest.mark.parametrize(
    ("types", "words"),
    [
        ([[["global"], 3]], "attention_types describes 3 blocks, but num_layers is 4"),
        ([[["global", "near"], 2]], "each entry must be a list of global and local"),
        ([[["global"], True]], "each entry must be"),
        ([["global"], 4], "each entry must be"),
        ([[["global"], 10**9]], "each entry must be"),
        (None, "attention_types describes 24 blocks, but num_layers is 4"),
    ],
)
def test_kinds_of_blocks_of_gpt_neo_must_fit(types: Any, words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        neo(attention_types=types)


@pytest.mark.parametrize("key", ["n_embd", "n_layer", "n_head", "vocab_size"])
def test_sizes_of_gpt2_never_default(key: str) -> None:
    for value in (..., None, 0, "16", [16]):
        with pytest.raises(BadInputError, match=key):
            gpt2(**{key: value})


def test_published_sizes() -> None:
    assert published("gpt2_xl").params_total == 1_557_611_200
    assert published("gpt_j_6b").params_total == 6_050_882_784
    assert windows(published("gpt_neo_2_7b")) == [None, 256] * 16
