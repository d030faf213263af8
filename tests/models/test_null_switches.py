"""A switch that is null is off, even where a missing one would be on: transformers asks only whether it is true."""

from __future__ import annotations

from typing import Any

import pytest

from costmodel.errors import BadInputError
from planner.models.read import read_model

STARCODER = {
    "architectures": ["Starcoder2ForCausalLM"],
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "vocab_size": 100,
}
# A table 100 x 64 = 6400; a block: q and o 64 x 64, k and v 64 x 32 each: 12288; feed-forward 2 x 64 x 96 = 12288; two
# norms of 128: 24832, twice 49664; a norm of 128. Biases: 64 + 32 + 32 + 64 + 96 + 64 = 352 a block.
WITHOUT_BIASES = 6400 + 49664 + 128


def read(**changes: Any) -> Any:
    return read_model({**STARCODER, **changes}, "here", "small")


def test_a_missing_switch_takes_the_default_and_a_null_one_is_off() -> None:
    assert read().params_total == WITHOUT_BIASES + 2 * 352
    assert read(use_bias=None).params_total == WITHOUT_BIASES
    assert "use_bias is null, which the class takes for false." in read(use_bias=None).assumptions


def test_null_unties_the_head_of_a_class_that_ties_it() -> None:
    assert read(tie_word_embeddings=None, use_bias=False).params_total == WITHOUT_BIASES + 6400


@pytest.mark.parametrize("value", [None, False])
def test_a_gate_that_contradicts_the_projection_of_t5_is_refused(value: bool | None) -> None:
    t5 = {"architectures": ["T5Model"], "d_model": 64, "d_ff": 96, "num_layers": 2, "num_heads": 8, "vocab_size": 100}
    gated = {**t5, "feed_forward_proj": "gated-gelu"}
    # A gate is a third matrix, 64 x 96, in two blocks of each stack.
    difference = read_model(gated, "here", "t5").params_total - read_model(t5, "here", "t5").params_total
    assert difference == 4 * 64 * 96
    with pytest.raises(
        BadInputError, match=r"is_gated_act is .*, but feed_forward_proj is 'gated-gelu'; they must agree"
    ):
        read_model({**gated, "is_gated_act": value}, "here", "t5")
    assert read_model({**gated, "is_gated_act": True}, "here", "t5")
