"""Keys of an accepted config that must agree with each other and with the model, whatever the class is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from costmodel.spec import ModelSpec

LAYERS = ("num_hidden_layers", "n_layer", "num_layers", "n_layers", "encoder_layers")
DECODER_LAYERS = ("decoder_layers", "num_decoder_layers")
HEADS = ("num_attention_heads", "n_head", "num_heads", "n_heads", "encoder_attention_heads")
SIZES = (
    *LAYERS, *DECODER_LAYERS, *HEADS, "num_key_value_heads", "hidden_size", "intermediate_size", "vocab_size",
    "head_dim",
)  # fmt: skip
WITHOUT_DECODER = ("EncoderModel", "ForTokenClassification", "ForAudioClassification")
EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts")
PER_TOKEN = ("num_experts_per_tok", "num_experts_per_token")


def disagreements(data: dict[str, Any], spec: ModelSpec) -> Iterator[str]:
    """What contradicts what; `data` is the config, or an object in it."""
    yield from _within(data, spec.architecture)
    for key in ("text_config", "vision_config", "audio_config"):
        if isinstance(data.get(key), dict):
            yield from _within(data[key], spec.architecture)
    main = data["text_config"] if isinstance(data.get("text_config"), dict) else data
    keys = LAYERS if spec.architecture.endswith(WITHOUT_DECODER) else (*DECODER_LAYERS, *LAYERS)
    num_layers = _first(main, keys)
    if num_layers is not None and num_layers != spec.num_layers:
        yield f"the config says {num_layers} layers, but the model has {spec.num_layers}"


def _within(data: dict[str, Any], architecture: str) -> Iterator[str]:
    for key in SIZES:
        if key in data and data[key] is not None and (type(data[key]) is not int or data[key] < 1):
            yield f"{key} is {data[key]!r}"
    heads, kv_heads = _first(data, HEADS), _first(data, ("num_key_value_heads",))
    if heads is not None and kv_heads is not None and heads % kv_heads:
        yield f"{heads} heads share {kv_heads} for keys and values"
    layers = _first(data, LAYERS)
    for key in ("layer_types", "mlp_layer_types"):
        if isinstance(data.get(key), list) and layers is not None and len(data[key]) != layers:
            yield f"{key} has {len(data[key])} entries for {layers} layers"
    experts, per_token = _first(data, EXPERTS), _first(data, PER_TOKEN)
    if experts is not None and per_token is not None and per_token > experts > 1:
        yield f"{per_token} of {experts} experts for each token"


def _first(data: dict[str, Any], keys: tuple[str, ...]) -> int | None:
    return next((data[key] for key in keys if type(data.get(key)) is int), None)
