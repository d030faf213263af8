"""Gemma 4: counts by hand of wide heads, shared keys, experts and inputs of blocks, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from decoder_samples import ATTENTION, GATED, SIZES
from expert_samples import block_params, published, reader, windows

from costmodel.errors import BadInputError
from costmodel.spec import Attention, Block, Moe

WINDOWED, WHOLE = "sliding_attention", "full_attention"
SMALL = {
    **SIZES,
    "num_hidden_layers": 4,
    "head_dim": 4,
    "global_head_dim": 8,
    "hidden_size_per_layer_input": 0,
    "layer_types": [WINDOWED, WHOLE, WINDOWED, WHOLE],
}
gemma4 = reader("Gemma4ForCausalLM", SMALL)

# Attention, norm of queries and keys 2 x 4, feed-forward network, four norms of 16; heads twice as wide where all is
# seen: 2 x 768 and 2 x 8.
NEAR, FAR = ATTENTION + 8 + GATED + 64, 2 * ATTENTION + 16 + GATED + 64


def _attention(model: Any) -> list[Attention]:
    mixers = [block.mixer for block in model.blocks if isinstance(block, Block)]
    return [mixer for mixer in mixers if isinstance(mixer, Attention)]


def test_blocks_that_see_everything_have_wider_heads() -> None:
    model = gemma4(sliding_window=6)
    assert block_params(model) == [NEAR, FAR, NEAR, FAR]
    assert windows(model) == [6, None, 6, None]
    assert model.params_by_part["head"] == 16


def test_the_last_block_sees_everything_whatever_the_list_says() -> None:
    assert windows(gemma4(layer_types=[WINDOWED] * 4))[-1] is None
    assert windows(gemma4(layer_types=None)) == [512, 512, 512, None]


def test_keys_may_be_values() -> None:
    # One global key head of 8 and no projection of values: 16 x 32 for queries and output, 16 x 8 for keys.
    far = 2 * 512 + 128 + 16 + GATED + 64
    model = gemma4(attention_k_eq_v=True, num_global_key_value_heads=1)
    assert block_params(model) == [NEAR, far, NEAR, far]
    # Where keys are not values, the global number of heads counts for nothing.
    assert block_params(gemma4(num_global_key_value_heads=1)) == [NEAR, FAR, NEAR, FAR]


def test_the_last_blocks_may_share_keys_and_values() -> None:
    # Without keys and values: queries and output, the norm of the queries.
    model = gemma4(num_kv_shared_layers=2)
    assert block_params(model) == [NEAR, FAR, 512 + 4 + GATED + 64, 1024 + 8 + GATED + 64]
    assert [mixer.reuses_kv for mixer in _attention(model)] == [False, False, True, True]
    wide = gemma4(num_kv_shared_layers=2, use_double_wide_mlp=True)
    assert block_params(wide) == [NEAR, FAR, 512 + 4 + 2 * GATED + 64, 1024 + 8 + 2 * GATED + 64]


def test_experts_stand_beside_the_network() -> None:
    model = gemma4(enable_moe_block=True, num_experts=3, top_k_experts=2, moe_intermediate_size=5)
    # 3 x 3 x 16 x 5 = 720, router 3 x 16 with a scale of its input 16 and one per expert 3, three more norms of 16.
    assert block_params(model)[0] == NEAR + 720 + 48 + 19 + 48
    assert all(isinstance(block, Block) and isinstance(block.feed_forward, Moe) for block in model.blocks)
    with pytest.raises(BadInputError, match="top_k_experts is missing"):
        gemma4(enable_moe_block=True, num_experts=3, moe_intermediate_size=5)


def test_blocks_may_have_inputs_of_their_own() -> None:
    model = gemma4(hidden_size_per_layer_input=3, vocab_size_per_layer_input=7)
    # Per block a gate 16 x 3, a projection 3 x 16 and a norm of 16.
    assert block_params(model) == [NEAR + 112, FAR + 112, NEAR + 112, FAR + 112]
    # A table of 7 x 4 x 3, a projection 16 x 4 x 3, a norm of 3.
    assert model.params_by_part["embedding"] == 160 + 84 + 192 + 3


def test_files_written_by_transformers_give_sizes_by_block() -> None:
    sizes = {"1": {"head_dim": 8}, "03": {"head_dim": 8}}
    assert gemma4(per_layer_config=sizes).blocks == gemma4().blocks
    # A null replaces the global sizes as well, by none.
    own = {layer.mixer.head_dim for layer in gemma4(per_layer_config=None).blocks}
    assert own == {gemma4().blocks[0].mixer.head_dim}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"num_kv_shared_layers": 5}, "num_kv_shared_layers is 5, but num_hidden_layers only 4"),
        ({"num_kv_shared_layers": 3}, "all blocks of full_attention take keys and values"),
        ({"num_key_value_heads": 3}, "must be a multiple of num_key_value_heads = 3"),
        ({"per_layer_config": {"4": {"head_dim": 8}}}, "has an entry '4', but there are 4 blocks"),
        ({"per_layer_config": {"1": {"hidden_size": 8}}}, r"per_layer_config\.1\.hidden_size is not known"),
        ({"per_layer_config": {"1": {"head_dim": 8}}}, "gives blocks of full_attention different sizes"),
        ({"per_layer_config": {"1": 8}}, r"per_layer_config\.1 is 8"),
        ({"use_bidirectional_attention": True}, "use_bidirectional_attention is true"),
    ],
)
def test_what_contradicts_itself_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        gemma4(**changes)


def test_all_at_once() -> None:
    assert published("gemma_4_text_small").num_layers == 8
