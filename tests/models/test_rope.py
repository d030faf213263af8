"""Rotary position embeddings: what is refused by name, and that a model can be built with whatever is not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costmodel.errors import BadInputError
from costmodel.spec.shown import shown
from planner.models.rope import KINDS, MAX_POSITIONS, check_rope

HEAD_DIM = 8
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 1,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": HEAD_DIM,
    "vocab_size": 100,
    "max_position_embeddings": 32,
}
PAIRS = [1.0, 1.5, 2.0, 4.0]
GOOD: dict[str, dict[str, Any]] = {
    "default": {},
    "linear": {"factor": 2},
    "dynamic": {"factor": 2.5},
    "yarn": {"factor": 4.0},
    "longrope": {"short_factor": PAIRS, "long_factor": PAIRS},
    "llama3": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0},
}
"""What each kind needs at least."""


def scaled(name: str, **changes: Any) -> dict[str, Any]:
    """A config of kind `name` with `changes` to its rope_scaling; a change to `...` removes the key."""
    values = {"rope_type": name, **GOOD[name], **changes}
    return CONFIG | {"rope_scaling": {key: value for key, value in values.items() if value is not ...}}


def refusal(config: dict[str, Any], head_dim: int = HEAD_DIM) -> str:
    with pytest.raises(BadInputError) as refused:
        check_rope(config, head_dim, "here")
    return str(refused.value)


@pytest.mark.parametrize(
    "config",
    [
        CONFIG | {"rope_scaling": [1] * 10_000},
        CONFIG | {"rope_theta": "9" * 10_000},
        scaled("default", rope_type="y" * 10_000),
        scaled("linear", factor=[2] * 10_000),
        scaled("longrope", short_factor=[1] * 10_000),
        scaled("yarn", original_max_position_embeddings=[32] * 10_000),
        scaled("yarn", partial_rotary_factor=[1] * 10_000),
    ],
)
def test_a_long_value_is_cut_in_the_message(config: dict[str, Any]) -> None:
    assert len(refusal(config)) < 300


@pytest.mark.parametrize("name", KINDS)
def test_the_least_of_every_kind_will_do_in_older_and_newer_configs(name: str) -> None:
    check_rope(scaled(name), HEAD_DIM, "here")
    check_rope(CONFIG | {"rope_parameters": {"type": name, "rope_theta": 5e5, **GOOD[name]}}, HEAD_DIM, "here")


def test_the_two_bounds_of_llama3_may_be_equal() -> None:
    check_rope(scaled("llama3", low_freq_factor=1.0, high_freq_factor=1.0), HEAD_DIM, "here")


@pytest.mark.parametrize(("name", "key"), [(name, key) for name, values in GOOD.items() for key in values])
def test_every_key_that_a_kind_needs_is_asked_for(name: str, key: str) -> None:
    assert refusal(scaled(name, **{key: ...})) == f"here: rope_scaling.{key} is missing; rope_type {name} needs it"
    assert refusal(scaled(name, **{key: None})).startswith(f"here: rope_scaling.{key} is null, but must be")


@pytest.mark.parametrize("name", ["linear", "dynamic", "yarn", "longrope", "llama3"])
@pytest.mark.parametrize("value", [0, 0.999, -8.0, "8", True, [8], float("nan"), float("inf"), 1e300, 10**400])
def test_a_factor_is_a_number_of_at_least_1(name: str, value: Any) -> None:
    words = (
        f"here: rope_scaling.factor is {shown(value)}, but must be a number of at least 1 and at most {MAX_POSITIONS}"
    )
    assert refusal(scaled(name, factor=value)) == words


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"rope_theta": "a"}, "here: rope_theta is 'a', but must be a number above 0"),
        ({"rope_theta": 0}, "here: rope_theta is 0, "),
        ({"rope_theta": None}, "here: rope_theta is null, "),
        ({"rope_theta": 10**400}, "here: rope_theta is 1000"),
        ({"rope_parameters": {"rope_theta": True}}, "here: rope_parameters.rope_theta is true, "),
        ({"rope_scaling": "linear"}, "rope_scaling is 'linear', but must be an object or null"),
        (scaled("linear", rope_type="nonsense"), "rope_scaling.rope_type is 'nonsense', but must be one of default, "),
        (scaled("linear", rope_type=None, type="linear"), "rope_scaling.rope_type is null, "),
        (scaled("linear", type=["linear"]), 'rope_scaling.type is ["linear"], '),
        (scaled("linear", partial_rotary_factor=0.5), "rope_scaling.partial_rotary_factor is 0.5, but must be 1"),
        (scaled("linear") | {"partial_rotary_factor": 0.5}, "here: partial_rotary_factor is 0.5, but must be 1"),
        (scaled("yarn", attention_factor=-1), "attention_factor is -1, but must be a number of at least 0"),
        (scaled("yarn", beta_fast=0), "beta_fast is 0, but must be a number above 0"),
        (scaled("yarn", beta_slow="a"), "beta_slow is 'a', "),
        (scaled("yarn", mscale_all_dim=-15), "mscale_all_dim is -15, "),
        (scaled("yarn", rope_theta=1.0), "rope_theta is 1, whose logarithm is 0"),
        (scaled("yarn") | {"rope_theta": 1}, "rope_theta is 1, whose logarithm is 0"),
        (scaled("yarn", original_max_position_embeddings=8.5), "is 8.5, but must be a whole number from 2 to"),
        (scaled("llama3", original_max_position_embeddings=0), "original_max_position_embeddings is 0, "),
        (scaled("llama3", original_max_position_embeddings=None), "original_max_position_embeddings is null, "),
        (scaled("yarn") | {"original_max_position_embeddings": "8"}, "here: original_max_position_embeddings is '8', "),
        (scaled("longrope") | {"max_position_embeddings": 1}, "here: max_position_embeddings is 1, "),
        (scaled("longrope", short_factor=PAIRS[:3]), "must be a list of head_dim / 2 = 4 numbers above 0"),
        (scaled("longrope", long_factor=[1, 1, 1, 0]), "rope_scaling.long_factor is [1, 1, 1, 0], "),
        (scaled("longrope", long_factor=2.0), "rope_scaling.long_factor is 2.0, "),
        (scaled("llama3", low_freq_factor=0), "low_freq_factor is 0, but must be a number above 0"),
        (
            scaled("llama3", high_freq_factor=0.5),
            "is 0.5, but must not be below rope_scaling.low_freq_factor, which is 1.0",
        ),
    ],
)
def test_what_gives_no_angles_is_refused_by_name(config: dict[str, Any], words: str) -> None:
    assert words in refusal(config)


def test_dynamic_scaling_needs_two_pairs() -> None:
    assert "head_dim is 2; it must be at least 4" in refusal(scaled("dynamic"), head_dim=2)


factors = st.floats(1, MAX_POSITIONS) | st.integers(1, MAX_POSITIONS)
positives = st.floats(1e-9, MAX_POSITIONS)
maybe = st.none() | st.floats(0, MAX_POSITIONS)
lengths = st.just({}) | st.fixed_dictionaries({"original_max_position_embeddings": st.integers(2, MAX_POSITIONS)})
pairs = st.lists(positives, min_size=HEAD_DIM // 2, max_size=HEAD_DIM // 2)
values_of = {
    "default": st.just({}),
    "linear": st.fixed_dictionaries({"factor": factors}),
    "dynamic": st.fixed_dictionaries({"factor": factors}),
    "yarn": st.fixed_dictionaries(
        {"factor": factors},
        optional={"attention_factor": maybe, "beta_fast": positives, "beta_slow": positives}
        | {"mscale": maybe, "mscale_all_dim": maybe},
    ),
    "longrope": st.fixed_dictionaries(
        {"short_factor": pairs, "long_factor": pairs}, optional={"factor": factors, "attention_factor": maybe}
    ),
    "llama3": st.fixed_dictionaries({"factor": factors, "low_freq_factor": st.floats(1e-9, 10)}).map(
        lambda values: values | {"high_freq_factor": 2 * values["low_freq_factor"]}
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
@given(data=st.data(), theta=st.floats(1.5, 1e9), positions=st.integers(2, 10**6))
@settings(max_examples=40, deadline=None)
def test_transformers_computes_finite_angles_with_whatever_is_accepted(
    name: str, data: st.DataObject, theta: float, positions: int
) -> None:
    from transformers import AutoConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    config = scaled(name, **data.draw(values_of[name]), **data.draw(lengths))
    config |= {"rope_theta": theta, "max_position_embeddings": positions}
    check_rope(config, HEAD_DIM, "here")
    angles = LlamaRotaryEmbedding(AutoConfig.for_model(**config)).inv_freq
    assert angles.shape == (HEAD_DIM // 2,)
    assert angles.isfinite().all()
