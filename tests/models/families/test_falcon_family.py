"""Falcon: counts by hand of both generations, and the class of the first checkpoints by its own keys."""

from __future__ import annotations

from typing import Any

import pytest
from expert_samples import block_params, published, reader

from costmodel.errors import BadInputError

SIZES: dict[str, Any] = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 10}
RW_SIZES: dict[str, Any] = {"hidden_size": 16, "n_layer": 2, "n_head": 4, "vocab_size": 10}
falcon = reader("FalconForCausalLM", SIZES)
first = reader("RWForCausalLM", RW_SIZES)

# A feed-forward network of 16 x 64 and 64 x 16; attention with one key and value head: 2 x 256 + 2 x 64.
NETWORK, MULTI_QUERY, NORM = 2048, 640, 32


def test_falcon_by_hand() -> None:
    model = falcon()
    assert block_params(model) == [MULTI_QUERY + NETWORK + NORM] * 2
    assert all(block.parallel for block in model.blocks)
    assert model.params_by_part == {"embedding": 160, "blocks": 2 * 2720, "head": NORM}
    # Biases of queries 16, of key and value 4 each, of the output 16; of the network 64 + 16.
    assert block_params(falcon(bias=True)) == [2720 + 40 + 80] * 2
    assert block_params(falcon(multi_query=False)) == [1024 + NETWORK + NORM] * 2
    assert block_params(falcon(parallel_attn=False)) == [MULTI_QUERY + NETWORK + 2 * NORM] * 2


def test_heads_of_the_second_generation_are_grouped_and_have_two_norms() -> None:
    # Two key and value heads: 2 x 256 + 2 x 128.
    assert block_params(falcon(new_decoder_architecture=True, num_kv_heads=2)) == [768 + NETWORK + 2 * NORM] * 2
    one = falcon(new_decoder_architecture=True, num_kv_heads=2, num_ln_in_parallel_attn=1)
    assert block_params(one) == [768 + NETWORK + NORM] * 2
    # The first generation does not read num_kv_heads.
    assert falcon(num_kv_heads=4) == falcon()


def test_the_first_class_has_its_own_defaults() -> None:
    assert block_params(first()) == [1024 + NETWORK + 2 * NORM] * 2
    assert block_params(first(multi_query=True, parallel_attn=True)) == block_params(falcon())
    grouped = falcon(new_decoder_architecture=True, num_kv_heads=2)
    assert first(n_head_kv=2, parallel_attn=True).blocks == grouped.blocks


def test_falcon_7b_in_its_first_keys() -> None:
    model = published("falcon_7b")
    # Width 4544, 71 heads of 64, one key and value head. A block: queries and output 2 x 4544 x 4544, key and value
    # 2 x 4544 x 64, feed-forward 2 x 4544 x 18176, one norm 2 x 4544: 207,079,168. The table 65024 x 4544 is the
    # head's, too; a norm at the end.
    block = 2 * 4544**2 + 2 * 4544 * 64 + 2 * 4544 * 18176 + 2 * 4544
    assert model.params_total == 65024 * 4544 + 32 * block + 2 * 4544 == 6_921_720_704
    assert model.params_total == published("falcon_7b_new_keys").params_total


def test_falcon_40b_in_both_keys() -> None:
    new, old = published("falcon_40b"), published("falcon_40b_old_keys")
    # Width 8192, 128 heads of 64, 8 key and value heads: 2 x 8192 x 8192 + 2 x 8192 x 512; feed-forward
    # 2 x 8192 x 32768; two norms.
    block = 2 * 8192**2 + 2 * 8192 * 512 + 2 * 8192 * 32768 + 4 * 8192
    assert new.params_total == old.params_total == 65024 * 8192 + 60 * block + 2 * 8192


def test_an_older_model_type_is_known_without_a_class() -> None:
    read = reader("", {**RW_SIZES, "architectures": [], "model_type": "RefinedWeb"})
    assert read(n_head_kv=2).architecture == "RWForCausalLM"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"num_attention_heads": 3}, "num_attention_heads = 3 does not divide hidden_size = 16"),
        ({"num_attention_heads": ...}, "num_attention_heads is missing"),
        ({"new_decoder_architecture": True, "num_kv_heads": 3}, "not a multiple of"),
        ({"num_ln_in_parallel_attn": 3}, "num_ln_in_parallel_attn is 3"),
        ({"multi_query": "yes"}, "multi_query is 'yes'"),
    ],
)
def test_what_contradicts_itself_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        falcon(**changes)
