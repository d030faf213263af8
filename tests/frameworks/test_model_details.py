"""Details read from a Hugging Face config, and the ones that no exporter can say."""

from __future__ import annotations

from typing import Any

import pytest
from framework_samples import sample_model, sample_workload

from costmodel.errors import BadInputError
from planner.frameworks.details import ModelDetails, read_details


def details(config: dict[str, Any], seq_len: int = 128) -> ModelDetails:
    return read_details(config, sample_model(), sample_workload(seq_len=seq_len))


@pytest.mark.parametrize("config", [{}, dict.fromkeys(("hidden_act", "rms_norm_eps", "rope_theta", "rope_scaling"))])
def test_keys_that_are_absent_or_null_take_the_defaults_of_the_family(config: dict[str, Any]) -> None:
    assert details(config) == ModelDetails(
        norm_eps=1e-6, rope_theta=10000.0, rope_scaling=None, initializer_range=0.02, max_seq_len=256, vocab=512
    )


def test_rope_theta_stands_in_either_place() -> None:
    assert details({"rope_theta": 5e5}).rope_theta == 5e5
    assert details({"rope_parameters": {"rope_type": "default", "rope_theta": 5e5}}).rope_theta == 5e5
    assert details({"rope_theta": 5e5, "rope_scaling": None}).rope_theta == 5e5


def test_a_sequence_longer_than_the_model_attends_to_is_refused() -> None:
    assert details({}, seq_len=256).max_seq_len == 256
    with pytest.raises(BadInputError, match="seq_len is 512, but tiny attends fully to at most 256 tokens"):
        details({}, seq_len=512)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"hidden_act": "gelu"}, "hidden_act is 'gelu', but only 'silu'"),
        ({"rope_scaling": {"type": "yarn", "factor": 4.0}}, "rope_type is 'yarn', but only 'default' and 'llama3'"),
        ({"rope_scaling": {"rope_type": "llama3", "factor": 8.0}}, "low_freq_factor is null; expected a number"),
        ({"rope_parameters": "default"}, "rope_parameters is 'default'; expected an object"),
        ({"rms_norm_eps": True}, "rms_norm_eps is true; expected a number"),
    ],
)
def test_what_cannot_be_exported_is_named(config: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        details(config)
