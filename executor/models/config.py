"""The transformers config of a raw one: of the class that it names, with only the keys that decide what is computed.

A raw config also says how text is cut, how a model generates, and what whoever made it wrote beside. None of that
changes training here, and some of it transformers refuses, or fails on in the middle of a run.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from huggingface_hub.errors import StrictDataclassError
from transformers import CONFIG_MAPPING

from costmodel.errors import BadInputError
from costmodel.spec.shown import shown

CLASSES = {
    "LlamaForCausalLM": "llama",
    "MistralForCausalLM": "mistral",
    "Qwen2ForCausalLM": "qwen2",
    "Qwen3ForCausalLM": "qwen3",
}
"""By class, the model_type of its config. They share the module names and the forward pass of Llama."""

KEYS = (
    *("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads"),
    *("head_dim", "vocab_size", "max_position_embeddings", "hidden_act", "rms_norm_eps", "initializer_range"),
    *("tie_word_embeddings", "attention_bias", "mlp_bias", "use_sliding_window", "sliding_window"),
    *("max_window_layers", "layer_types"),
)
"""What decides the layers, where it is a field of the class's config."""
NUMBERS = ("rms_norm_eps", "initializer_range")
ROTATION = (
    *("rope_parameters", "rope_scaling", "rope_theta", "partial_rotary_factor", "original_max_position_embeddings"),
)
"""What decides the angles; each class also takes those that only older configs have."""


def read_config(raw: Mapping[str, Any]) -> Any:
    """The config of the class that `raw` names, for training; raises BadInputError for another, or a faulty value."""
    kind: Any = CONFIG_MAPPING[_model_type(raw)]
    known = {field.name for field in fields(kind)}
    keys = [key for key in KEYS if key in known] + [*ROTATION]
    # A null stands for the default, but the classes accept it for few keys; transformers fills in nested objects.
    settings = {key: copy.deepcopy(raw[key]) for key in keys if raw.get(key) is not None}
    # Where JSON knows only numbers, the classes ask for a decimal point.
    settings |= {key: float(settings[key]) for key in NUMBERS if type(settings.get(key)) is int}
    if "sliding_window" in known and "sliding_window" in raw:
        settings["sliding_window"] = raw["sliding_window"]
    settings |= _null_sizes(raw, known)
    try:
        config = kind(**settings)
    except (StrictDataclassError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadInputError(
            f"config: transformers cannot use it: {' '.join(str(error).split())}; see what `planner show` says of it"
        ) from None
    config.use_cache = False
    # Training text is not padded: every id is a token whose row learns.
    config.pad_token_id = None
    return config


def _model_type(raw: Mapping[str, Any]) -> str:
    """That of the class under `architectures`, else the config's own."""
    names, model_type = raw.get("architectures"), raw.get("model_type")
    if names:
        known, given, key = CLASSES, names[0] if isinstance(names, list) else names, "architectures"
    else:
        known, given, key = {kind: kind for kind in CLASSES.values()}, model_type, "model_type"
    if not isinstance(given, str) or given not in known:
        raise BadInputError(f"config: {key} is {shown(given)}, but the executor trains only {', '.join(CLASSES)}")
    return known[given]


def _null_sizes(raw: Mapping[str, Any], known: set[str]) -> dict[str, int]:
    """What a null means where the default would be another number: as many as there are heads, or their even share."""
    nulls = {"num_key_value_heads", "head_dim"} & known & {key for key, value in raw.items() if value is None}
    if not nulls:
        return {}
    for key in ("hidden_size", "num_attention_heads"):
        if type(raw.get(key)) is not int or raw[key] < 1:
            raise BadInputError(f"config: {key} is {shown(raw.get(key))}, but must be a whole number of 1 or more")
    sizes = {
        "num_key_value_heads": raw["num_attention_heads"],
        "head_dim": raw["hidden_size"] // raw["num_attention_heads"],
    }
    return {key: sizes[key] for key in nulls}
