"""SmolLM3, EXAONE 4, Ministral and CWM: counts by hand, and windows block by block."""

from __future__ import annotations

from typing import Any

import pytest
from decoder_samples import ATTENTION, GATED, SIZES
from expert_samples import block_params, published, reader, windows

from costmodel.errors import BadInputError

SMALL = {**SIZES, "num_hidden_layers": 4, "head_dim": 4}
smollm3 = reader("SmolLM3ForCausalLM", SMALL)
exaone4 = reader("Exaone4ForCausalLM", SMALL)
ministral = reader("MinistralForCausalLM", SMALL)
ministral3 = reader("Ministral3ForCausalLM", SMALL)
cwm = reader("CwmForCausalLM", SMALL)


def test_blocks_by_hand() -> None:
    for read in (smollm3, ministral, ministral3, cwm):
        assert block_params(read()) == [ATTENTION + GATED + 32] * 4
    # A gain of 4 numbers for queries and for keys.
    assert block_params(exaone4()) == [ATTENTION + 8 + GATED + 32] * 4
    assert smollm3().tied
    assert not cwm().tied


def test_windows_of_smollm3_are_where_nothing_rotates() -> None:
    assert windows(smollm3(sliding_window=9)) == [None] * 4
    on = {"use_sliding_window": True, "sliding_window": 9}
    assert windows(smollm3(**on)) == [None, None, None, 9]
    assert windows(smollm3(**on, no_rope_layer_interval=2)) == [None, 9, None, 9]
    assert windows(smollm3(**on, no_rope_layers=[0, 1, 1, 0])) == [9, None, None, 9]
    assert windows(smollm3(use_sliding_window=True)) == [None] * 4


def test_windows_of_exaone4() -> None:
    assert windows(exaone4()) == [4096, 4096, 4096, None]
    assert windows(exaone4(sliding_window_pattern=2, sliding_window=9)) == [9, None, 9, None]
    assert windows(exaone4(sliding_window=None)) == [None] * 4


def test_windows_of_the_others() -> None:
    assert windows(ministral(sliding_window=9)) == [9] * 4
    assert windows(ministral(sliding_window=None)) == [None] * 4
    types = ["full_attention", "sliding_attention"] * 2
    assert windows(ministral(sliding_window=9, layer_types=types)) == [None, 9, None, 9]
    assert windows(ministral3()) == [None] * 4
    assert windows(ministral3(sliding_window=9)) == [9] * 4
    assert windows(cwm()) == [None, 8192, 8192, 8192]


@pytest.mark.parametrize(
    ("read", "changes", "words"),
    [
        (smollm3, {"no_rope_layers": [0, 1]}, "no_rope_layers has 2 entries, but num_hidden_layers is 4"),
        (smollm3, {"no_rope_layers": [2, 1, 1, 1]}, r"no_rope_layers\[0\] is 2"),
        (exaone4, {"sliding_window_pattern": "LLLG"}, "sliding_window_pattern is 'LLLG'"),
        (ministral, {"layer_types": ["full_attention"]}, "layer_types has 1 entries"),
        (cwm, {"sliding_window": -1}, "sliding_window is -1"),
    ],
)
def test_what_contradicts_itself_is_refused(read: Any, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        read(**{"use_sliding_window": True, "sliding_window": 9, **changes})


def test_published_sizes() -> None:
    assert published("smollm3_3b").params_total == 3_075_098_624
    assert windows(published("exaone_4_32b")) == [4096, 4096, 4096, None] * 16
