"""Gemma 1 to 3: counts by hand, windows, and sight both ways."""

from __future__ import annotations

from typing import Any

import pytest
from decoder_samples import ATTENTION, GATED, OUTPUT_BIAS, QKV_BIAS, SIZES
from expert_samples import block_params, published, reader, windows

from costmodel.errors import BadInputError
from costmodel.spec import Attention, Block

SMALL = {**SIZES, "head_dim": 4}
gemma = reader("GemmaForCausalLM", SMALL)
gemma2 = reader("Gemma2ForCausalLM", SMALL, num_hidden_layers=4)
gemma3 = reader("Gemma3ForCausalLM", SMALL, num_hidden_layers=7)


def _causal(model: Any) -> set[bool]:
    mixers = [block.mixer for block in model.blocks if isinstance(block, Block)]
    return {mixer.causal for mixer in mixers if isinstance(mixer, Attention)}


def test_gemma_by_hand() -> None:
    model = gemma()
    assert block_params(model) == [ATTENTION + GATED + 32] * 2
    assert model.params_by_part["head"] == 16  # the table is tied
    assert block_params(gemma(attention_bias=True)) == [ATTENTION + QKV_BIAS + OUTPUT_BIAS + GATED + 32] * 2


def test_heads_of_gemma_are_256_wide_by_default() -> None:
    # 16 x 4 x 256 for queries and output, half of it for keys and for values.
    assert block_params(gemma(head_dim=...)) == [3 * 16384 + GATED + 32] * 2


def test_the_second_has_four_norms_and_a_window_in_every_other_block() -> None:
    assert block_params(gemma2()) == [ATTENTION + GATED + 64] * 4
    assert windows(gemma2()) == [4096, None, 4096, None]
    assert windows(gemma2(sliding_window=None)) == [None] * 4


def test_the_third_normalises_heads_and_has_five_windows_of_six() -> None:
    # A gain of 4 numbers for queries and for keys.
    assert block_params(gemma3()) == [ATTENTION + 8 + GATED + 64] * 7
    assert windows(gemma3(sliding_window=6)) == [6, 6, 6, 6, 6, None, 6]
    assert windows(gemma3(sliding_window=6, sliding_window_pattern=2)) == [6, None, 6, None, 6, None, 6]


def test_models_for_embedding_see_both_ways() -> None:
    assert _causal(gemma3()) == {True}
    model = gemma3(use_bidirectional_attention=True, sliding_window=6)
    assert _causal(model) == {False}
    assert windows(model)[0] == 6 // 2 + 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"num_attention_heads": 3, "num_key_value_heads": 3}, "num_attention_heads = 3 does not divide hidden_size"),
        ({"num_key_value_heads": 3}, "not a multiple of num_key_value_heads 3"),
        ({"sliding_window_pattern": 0}, "sliding_window_pattern is 0"),
        ({"layer_types": ["full_attention"]}, "layer_types has 1 entries, but num_hidden_layers is 7"),
        ({"intermediate_size": ...}, "intermediate_size is missing"),
        ({"rope_scaling": {"rope_type": "linear"}}, "factor is missing"),
        ({"rope_parameters": {"full_attention": {"rope_type": "linear"}}}, "factor is missing"),
        ({"head_dim": 5}, "of a head"),
        ({"hidden_activation": "prelu"}, "hidden_activation is 'prelu'"),
    ],
)
def test_what_contradicts_itself_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        gemma3(**changes)


def test_published_sizes() -> None:
    assert published("gemma_7b").params_total == 8_537_680_896
    assert published("gemma_2_27b").params_total == 27_227_128_320
    assert published("gemma_3_1b").params_total == 999_885_952
    assert windows(published("gemma_3_1b"))[:6] == [512] * 5 + [None]
    model = published("embeddinggemma_300m")
    assert model.params_total == 302_863_104
    assert model.head is None
