"""The text model of Llama 4: counts by hand, chunks, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from expert_samples import SIZES, block_params, feed_forward_kinds, published, reader, windows

from costmodel.errors import BadInputError
from costmodel.spec import Attention

llama4 = reader("Llama4ForCausalLM", SIZES, num_local_experts=3, head_dim=4, intermediate_size_mlp=12)


def test_by_hand() -> None:
    # Attention 768; 3 experts of 3 x 16 x 8 and as much shared: 1536, router 48; a dense network 3 x 16 x 12 = 576.
    sparse, dense = 768 + 1536 + 48 + 32, 768 + 576 + 32
    assert block_params(llama4()) == [sparse, sparse]
    assert block_params(llama4(interleave_moe_layer_step=2)) == [dense, sparse]
    assert block_params(llama4(moe_layers=[0])) == [sparse, dense]
    assert block_params(llama4(attention_bias=True)) == [sparse + 48, sparse + 48]


def test_every_fourth_block_sees_the_whole_sequence() -> None:
    model = llama4(num_hidden_layers=5, attention_chunk_size=6)
    assert windows(model) == [6, 6, 6, None, 6]
    mixers = [block.mixer for block in model.blocks]
    assert [isinstance(mixer, Attention) and mixer.chunked for mixer in mixers] == [True, True, True, False, True]


def test_chunks_go_with_rotation() -> None:
    assert windows(llama4(no_rope_layers=[0, 1])) == [None, 8192]
    assert windows(llama4(no_rope_layers=[])) == [8192, 8192]
    assert windows(llama4(no_rope_layer_interval=2)) == [8192, None]
    assert windows(llama4(attention_chunk_size=None)) == [None, None]
    assert windows(llama4(layer_types=["full_attention", "chunked_attention"])) == [None, 8192]


def test_llama_4_scout_as_published() -> None:
    model = published("llama_4_scout_text")
    assert feed_forward_kinds(model) == ["moe"] * 48
    assert [layer for layer, window in enumerate(windows(model)) if window is None] == list(range(3, 48, 4))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_local_experts": ...}, "num_local_experts is missing"),
        ({"moe_layers": [5]}, "moe_layers holds 5"),
        ({"moe_layers": [0], "intermediate_size_mlp": ...}, "intermediate_size_mlp is missing"),
        ({"intermediate_size_mlp": -1}, "intermediate_size_mlp is -1"),
        ({"no_rope_layers": [1]}, "no_rope_layers has 1 entries"),
        ({"no_rope_layers": [1, 2]}, r"no_rope_layers\[1\] is 2"),
        ({"layer_types": ["chunked_attention"] * 2, "attention_chunk_size": None}, "attention_chunk_size is null"),
        ({"interleave_moe_layer_step": 0}, "interleave_moe_layer_step is 0"),
    ],
)
def test_contradictions_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        llama4(**changes)
