"""gpt-oss: counts by hand, windows, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from expert_samples import SIZES, block_params, reader, windows

from costmodel.errors import BadInputError
from costmodel.spec import Attention

gpt_oss = reader("GptOssForCausalLM", SIZES, num_local_experts=3, head_dim=4)


def test_by_hand() -> None:
    # Attention 768, biases 16 + 8 + 8 + 16, sinks 4; 3 experts of 3 x 16 x 8 + 8 + 8 + 16 = 416, router 3 x (16 + 1);
    # two norms 32.
    assert block_params(gpt_oss()) == [768 + 48 + 4 + 1248 + 51 + 32] * 2
    assert block_params(gpt_oss(attention_bias=False)) == [768 + 4 + 1248 + 51 + 32] * 2


def test_windows_are_in_every_other_block() -> None:
    assert windows(gpt_oss(num_hidden_layers=5)) == [128, None, 128, None, 128]
    assert windows(gpt_oss(layer_types=["full_attention", "sliding_attention"], sliding_window=9)) == [None, 9]
    mixer = gpt_oss().blocks[0].mixer
    assert isinstance(mixer, Attention)
    assert mixer.has_sinks


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_local_experts": ...}, "num_local_experts is missing"),
        ({"intermediate_size": None}, "intermediate_size is null"),
        ({"sliding_window": None}, "sliding_window is null, but block 0 attends over a window"),
        ({"layer_types": ["full_attention"]}, "layer_types has 1 entries"),
        ({"num_experts_per_tok": 5}, "num_experts_per_tok 5 is above num_local_experts 3"),
    ],
)
def test_contradictions_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        gpt_oss(**changes)
