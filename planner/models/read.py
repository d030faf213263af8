"""Reads a Hugging Face config into a `ModelSpec`, without importing transformers.

A model that is not one of the families here is refused, never guessed: above all a mixture of experts is not read as
a dense model.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from costmodel.errors import BadInputError
from costmodel.spec import DenseBlock, Embedding, Head, LayerRun, ModelSpec
from costmodel.spec.base import parse_json
from planner.files import read_text
from planner.models.families import ACTIVATIONS, FAMILIES, MOE_KEYS, NESTED_KEYS, Family
from planner.models.presets import preset_names, preset_path
from planner.models.rope import check_rope

MAX_SIZE = {
    "num_hidden_layers": 1_000,
    "hidden_size": 2**20,
    "intermediate_size": 2**23,
    "num_attention_heads": 2**14,
    "num_key_value_heads": 2**14,
    "head_dim": 2**14,
    "vocab_size": 2**26,
    "max_position_embeddings": 2**31,
    "sliding_window": 2**31,
}
"""Far above any model there is; beyond it a value is a mistake."""

MAX_CONFIG_BYTES = 4 * 2**20
FACTORY = re.compile(r"[\w./\\-]+:[A-Za-z_][\w.]*")
"""`module:factory`: Python that builds a model."""


@dataclass(frozen=True)
class LoadedModel:
    """A model as it was read."""

    hf_config: dict[str, Any]
    """The raw config."""
    spec: ModelSpec
    sha256: str
    """Of the file's bytes as text."""
    where: str
    """Origin for messages, e.g. `preset llama-3-8b`."""


def load_model(text: str) -> LoadedModel:
    """The model that `text` names: a preset, a `config.json`, or a folder that holds one.

    A preset name wins over a file of that name in the current folder; write `./name` for the file.
    Raises BadInputError with close matches for an unknown name, and for a config that cannot be used.
    """
    preset = preset_path(text)
    if preset is not None:
        return _load(preset, f"preset {text}", text)
    # Not Path.is_dir() and Path.exists(): they raise where a name is too long or a folder may not be entered.
    path = Path(text)
    if os.path.isdir(path):
        path = path / "config.json"
    if os.path.lexists(path):
        name = Path(os.path.realpath(path)).parent.name if path.name == "config.json" else path.stem
        # A file name need not be UTF-8, but the name of a model stands in files that are.
        name = os.fsencode(name).decode("utf-8", errors="replace") or "model"
        return _load(path, f"model config {path}", name)
    refuse_factory(text, "--model")
    close = difflib.get_close_matches(text, preset_names(), n=3)
    hint = f"did you mean {', '.join(close)}" if close else f"presets: {', '.join(preset_names())}"
    raise BadInputError(f"--model {text}: neither a preset nor a config.json or folder that holds one; {hint}")


def refuse_factory(text: str, where: str) -> None:
    """Raise BadInputError, which says what does work, where `text` has the form `module:factory`. Imports nothing."""
    if FACTORY.fullmatch(text):
        raise BadInputError(
            f"{where} {text}: module:factory is not supported by this version; give a preset name "
            f"({', '.join(preset_names())}) or a Hugging Face config.json (file or folder)"
        )


def read_model(hf_config: dict[str, Any], where: str, name: str) -> ModelSpec:
    """The layers that the class of `hf_config` builds. Raises BadInputError naming the key at fault."""
    family = _family(hf_config, where)
    for key in MOE_KEYS:
        if hf_config.get(key) not in (None, 0):
            raise BadInputError(
                f"{where}: {key} is {hf_config[key]!r}, so this is a mixture of experts, but only dense models are "
                f"supported by this version ({_supported()})"
            )
    for key in ("quantization_config", "num_nextn_predict_layers"):
        if hf_config.get(key) not in (None, 0):
            raise BadInputError(f"{where}: {key} is set; remove the key: only plain models can be trained here")

    _check_activation(hf_config, where)
    assumptions: list[str] = []
    if not hf_config.get("architectures"):
        assumptions.append(f"The class is {family.architecture}, taken from model_type {family.model_type!r}.")
    heads = _size(hf_config, "num_attention_heads", where)
    hidden = _size(hf_config, "hidden_size", where)
    vocab = _size(hf_config, "vocab_size", where)
    num_layers = _size(hf_config, "num_hidden_layers", where)
    attention_bias = family.reads_attention_bias and _switch(hf_config, "attention_bias", where)
    head_dim = _head_dim(hf_config, family, hidden, heads, where, assumptions)
    if head_dim % 2:
        raise BadInputError(f"{where}: head_dim is {head_dim}, but rotary position embeddings need an even one")
    check_rope(hf_config, head_dim, where)
    block = DenseBlock(
        hidden=hidden,
        num_heads=heads,
        num_kv_heads=_kv_heads(hf_config, family, heads, where, assumptions),
        head_dim=head_dim,
        ffn_hidden=_size(hf_config, "intermediate_size", where),
        qkv_bias=family.qkv_bias or attention_bias,
        output_bias=attention_bias,
        mlp_bias=family.reads_mlp_bias and _switch(hf_config, "mlp_bias", where),
        qk_norm=family.qk_norm,
    )
    return ModelSpec(
        name=name,
        architecture=family.architecture,
        runs=(
            LayerRun(layer=Embedding(vocab=vocab, hidden=hidden)),
            LayerRun(layer=block, count=num_layers),
            LayerRun(layer=Head(vocab=vocab, hidden=hidden, tied=_switch(hf_config, "tie_word_embeddings", where))),
        ),
        max_seq_len=_max_seq_len(hf_config, family, num_layers, where, assumptions),
        assumptions=tuple(assumptions),
    )


def _load(path: Path, where: str, name: str) -> LoadedModel:
    text = read_text(path, "model config", max_bytes=MAX_CONFIG_BYTES)
    data = parse_json(text, where)
    if not isinstance(data, dict):
        raise BadInputError(f"{where}: holds a {type(data).__name__}, but a Hugging Face config is a JSON object")
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    return LoadedModel(data, read_model(data, where, name), sha256, where)


def _supported() -> str:
    return ", ".join(family.architecture for family in FAMILIES)


def _family(config: dict[str, Any], where: str) -> Family:
    for key in NESTED_KEYS:
        if isinstance(config.get(key), dict):
            raise BadInputError(
                f"{where}: {key} nests another model, but only plain language models are supported by this version "
                f"({_supported()})"
            )
    architectures, model_type = config.get("architectures"), config.get("model_type")
    if architectures is None or architectures == []:
        matches = [family for family in FAMILIES if family.model_type == model_type]
        if not matches:
            raise BadInputError(
                f"{where}: architectures is missing and model_type is {model_type!r}; supported classes: {_supported()}"
            )
        return matches[0]
    if not isinstance(architectures, list) or not isinstance(architectures[0], str):
        raise BadInputError(f"{where}: architectures is {architectures!r}, but must be a list of class names")
    matches = [family for family in FAMILIES if family.architecture == architectures[0]]
    if not matches:
        raise BadInputError(
            f"{where}: architecture {architectures[0]} is not supported by this version; supported: {_supported()}"
        )
    if model_type not in (None, matches[0].model_type):
        raise BadInputError(
            f"{where}: model_type is {model_type!r}, but architecture {architectures[0]} needs "
            f"{matches[0].model_type!r}"
        )
    return matches[0]


def _check_activation(config: dict[str, Any], where: str) -> None:
    name = config.get("hidden_act", "silu")
    if name not in ACTIVATIONS:
        raise BadInputError(f"{where}: hidden_act is {name!r}, but must be one of {', '.join(ACTIVATIONS)}")


def _size(config: dict[str, Any], key: str, where: str) -> int:
    if config.get(key) is None:
        state = "null" if key in config else "missing"
        raise BadInputError(f"{where}: key {key} is {state}; a whole number from 1 to {MAX_SIZE[key]} is needed")
    value = config[key]
    if type(value) is not int or not 1 <= value <= MAX_SIZE[key]:
        raise BadInputError(f"{where}: {key} is {value!r}, but must be a whole number from 1 to {MAX_SIZE[key]}")
    return value


def _switch(config: dict[str, Any], key: str, where: str) -> bool:
    value = config.get(key)
    if value is not None and not isinstance(value, bool):
        raise BadInputError(f"{where}: {key} is {value!r}, but must be true or false")
    return bool(value)


def _kv_heads(config: dict[str, Any], family: Family, heads: int, where: str, assumptions: list[str]) -> int:
    key = "num_key_value_heads"
    if config.get(key) is not None:
        kv_heads = _size(config, key, where)
    elif key in config or family.kv_heads_default is None:
        kv_heads = heads
        assumptions.append(f"{key} is not given: one per attention head ({heads}), as {family.architecture} does.")
    else:
        kv_heads = family.kv_heads_default
        assumptions.append(f"{key} is not given: {kv_heads}, the default of {family.architecture}.")
    if heads % kv_heads:
        raise BadInputError(f"{where}: {key} = {kv_heads} does not divide num_attention_heads = {heads}")
    return kv_heads


def _head_dim(
    config: dict[str, Any], family: Family, hidden: int, heads: int, where: str, assumptions: list[str]
) -> int:
    if family.head_dim_free:
        if config.get("head_dim") is not None:
            return _size(config, "head_dim", where)
        if family.head_dim_default is not None and "head_dim" not in config:
            default = family.head_dim_default
            assumptions.append(f"head_dim is not given: {default}, the default of {family.architecture}.")
            return default
    if hidden % heads:
        raise BadInputError(
            f"{where}: num_attention_heads = {heads} does not divide hidden_size = {hidden}; "
            "give head_dim, or sizes that divide"
        )
    return hidden // heads


def _max_seq_len(
    config: dict[str, Any], family: Family, num_layers: int, where: str, assumptions: list[str]
) -> int | None:
    """Longest sequence that is trained with full causal attention: the positions, or the window if it is shorter."""
    positions = (
        None if config.get("max_position_embeddings") is None else _size(config, "max_position_embeddings", where)
    )
    window = _window(config, family, num_layers, where)
    if window is None or (positions is not None and positions <= window):
        return positions
    assumptions.append(
        f"Sequences are at most {window} tokens (sliding_window): up to there windowed and full attention are the same."
    )
    return window


def _window(config: dict[str, Any], family: Family, num_layers: int, where: str) -> int | None:
    """The attention window of any layer, or None where every layer attends to the whole sequence."""
    kinds = config.get("layer_types")
    if kinds is not None:
        known = {"full_attention", "sliding_attention"}
        if not isinstance(kinds, list) or len(kinds) != num_layers or not known.issuperset(map(str, kinds)):
            raise BadInputError(
                f"{where}: layer_types must hold num_hidden_layers = {num_layers} entries, each full_attention or "
                "sliding_attention"
            )
        if "sliding_attention" not in kinds:
            return None
    elif family.window_needs_switch and not _switch(config, "use_sliding_window", where):
        return None
    if "sliding_window" not in config:
        return family.window_default
    return None if config["sliding_window"] is None else _size(config, "sliding_window", where)
