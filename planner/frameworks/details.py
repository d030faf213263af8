"""Details of a model that cost nothing but must be exported: read from its Hugging Face config."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from costmodel.errors import BadInputError
from costmodel.spec import ModelSpec, Workload
from costmodel.spec.shown import shown

SILU = ("silu", "swish")
"""The names that transformers has for it."""


@dataclass(frozen=True)
class Llama3RopeScaling:
    """Stretching of rotary frequencies as Llama 3.1 does it."""

    factor: float
    low_freq_factor: float
    high_freq_factor: float
    original_max_position_embeddings: int


@dataclass(frozen=True)
class ModelDetails:
    """Norm, rotary embedding and initial weights. Keys that are absent or null take the defaults of Llama."""

    norm_eps: float
    rope_theta: float
    rope_scaling: Llama3RopeScaling | None
    initializer_range: float
    max_seq_len: int
    """Longest sequence that the model attends to in full; not below the sequence length of the job."""
    vocab: int


def read_details(config: Mapping[str, Any], model: ModelSpec, workload: Workload) -> ModelDetails:
    """Raises BadInputError for what no exporter can say: another activation or rotary scaling, a longer sequence."""
    activation = config.get("hidden_act")
    if activation not in (None, *SILU):
        raise BadInputError(f"hf_config: hidden_act is {shown(activation)}, but only 'silu' can be exported")
    longest = model.max_seq_len or workload.seq_len
    if workload.seq_len > longest:
        raise BadInputError(
            f"seq_len is {workload.seq_len}, but {model.name} attends fully to at most {longest} tokens"
        )
    vocab = model.vocab
    if vocab is None:
        raise BadInputError(f"{model.name} reads no tokens, so that it cannot be exported")
    rope = config.get("rope_scaling") or config.get("rope_parameters") or {}
    if not isinstance(rope, Mapping):
        raise BadInputError(f"hf_config: rope_parameters is {shown(rope)}; expected an object")
    return ModelDetails(
        norm_eps=_number(config, "rms_norm_eps", 1e-6),
        rope_theta=_number(rope, "rope_theta", _number(config, "rope_theta", 10000.0)),
        rope_scaling=_read_rope_scaling(rope),
        initializer_range=_number(config, "initializer_range", 0.02),
        max_seq_len=longest,
        vocab=vocab,
    )


def _read_rope_scaling(rope: Mapping[str, Any]) -> Llama3RopeScaling | None:
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind == "default":
        return None
    if kind != "llama3":
        raise BadInputError(f"hf_config: rope_type is {shown(kind)}, but only 'default' and 'llama3' can be exported")
    return Llama3RopeScaling(
        factor=_number(rope, "factor"),
        low_freq_factor=_number(rope, "low_freq_factor"),
        high_freq_factor=_number(rope, "high_freq_factor"),
        original_max_position_embeddings=int(_number(rope, "original_max_position_embeddings")),
    )


def _number(config: Mapping[str, Any], key: str, default: float | None = None) -> float:
    value = config.get(key)
    if value is None:
        value = default
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadInputError(f"hf_config: {key} is {shown(value)}; expected a number")
    return float(value)
