"""Reads a Hugging Face config into a `ModelSpec`, as plain JSON, without importing transformers.

The class that `architectures` names decides what the keys mean; its family is a row of data in a file of `families`. A
model of another class is refused by an error of its own, so that whoever can trace it may; it is never guessed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from costmodel.errors import BadInputError
from costmodel.spec import LayerRun, ModelSpec
from costmodel.spec.base import parse_json
from costmodel.spec.shown import json_kind, shown, shown_key
from planner.files import is_there, read_text, sha256_of_text
from planner.models.config import Config
from planner.models.errors import UnknownArchitectureError
from planner.models.families import families, families_of_class
from planner.models.family import Family, RunSource
from planner.models.keys import MAX_TOKENS, contradiction
from planner.models.nested_sizes import fill_nested
from planner.models.other_schemas import other_schema
from planner.models.presets import EXAMPLES, preset_names, preset_path
from planner.models.unread import refuse_unread
from planner.names import alike, meant

MAX_CONFIG_BYTES = 4 * 2**20
MAX_PARAMS = 10**15
"""A thousand times the largest models there are; beyond it a size is a mistake."""
FACTORY = re.compile(r"[\w./\\-]+:[A-Za-z_][\w.]*")
"""`module:factory`: Python that builds a model."""
CACHED = re.compile(r"models--(?:.+?--)?(?P<name>.+)")
"""A folder of the Hub's cache."""


@dataclass(frozen=True)
class RawConfig:
    """A config as it stands in its file."""

    data: dict[str, Any]
    name: str
    """What the model is called: the preset, the folder or the file."""
    sha256: str
    """Of the file's bytes as text."""
    where: str
    """Origin for messages, e.g. `preset llama-3-8b`."""


@dataclass(frozen=True)
class LoadedModel:
    """A model as it was read."""

    hf_config: dict[str, Any]
    """The raw config."""
    spec: ModelSpec
    sha256: str
    where: str


def load_model(text: str) -> LoadedModel:
    """The model that `text` names; see `load_config` and `read_model` for what is refused."""
    raw = load_config(text)
    return LoadedModel(raw.data, read_model(raw.data, raw.where, raw.name), raw.sha256, raw.where)


def load_config(text: str) -> RawConfig:
    """The config that `text` names: a preset, by its name or its repository's, a `config.json`, or a folder with one.

    A preset name wins over a file of that name in the current folder; write `./name` for the file.
    Raises BadInputError with close matches for an unknown name, and for a file that is not JSON.
    """
    preset = preset_path(text)
    if preset is not None:
        return _load(preset, f"preset {preset.stem}", preset.stem)
    path = Path(text)
    # Not Path.is_dir(): it raises where a name is too long. An empty path would be the current folder.
    if text and os.path.isdir(path):
        path = path / "config.json"
        if not is_there(path, "model config"):
            raise BadInputError(
                f"model {text}: is a folder without config.json; name a folder that holds one, or the file itself"
            )
    if text and is_there(path, "model config"):
        # A file name need not be UTF-8, but the name of a model stands in files that are.
        name = os.fsencode(_name_of(path)).decode("utf-8", errors="replace") or "model"
        return _load(path, f"model config {path}", name)
    names = preset_names()
    close = meant(text, names)
    hint = f"did you mean {', '.join(close)}" if close else f"presets: {EXAMPLES} and others, {len(names)} in all"
    raise BadInputError(f"model {text}: neither a preset nor a config.json or folder that holds one; {hint}")


def read_model(data: dict[str, Any], where: str, name: str) -> ModelSpec:
    """The layers that the class of the config `data` builds.

    Raises UnknownArchitectureError for a class that no family reads, BadInputError naming the key at fault else.
    """
    family, assumption = family_of(data, where)
    data, assumptions = fill_nested(data, family.model_type)
    config = Config(data, where, family.architecture)
    for sentence in (assumption, *assumptions):
        if sentence:
            config.assume(sentence)
    try:
        spec = _spec(config, family, name)
    except BadInputError:
        # What is missing stands in for itself until all of it is known, and may have caused the error.
        config.refuse_missing()
        raise
    config.refuse_missing()
    if spec.params_total > MAX_PARAMS:
        largest = ", ".join(f"{key} = {value}" for value, key in _largest_numbers(data))
        config.fail(
            f"makes a model of {spec.params_total:.1e} parameters, but there is none above {MAX_PARAMS:.0e}; see "
            f"whether its largest numbers are right: {largest}"
        )
    return spec


def _spec(config: Config, family: Family, name: str) -> ModelSpec:
    runs, mtp_runs = _runs(family.layers, config), _runs(family.mtp, config)
    for check in family.checks:
        check(config)
    refuse_unread(config, family)
    max_seq_len = family.max_seq_len.read(config, 0)
    if isinstance(config.data.get("quantization_config"), dict):
        config.assume("quantization_config describes the file; sizes are those of the weights as they are trained.")
    if family.note:
        config.assume(family.note)
    try:
        return ModelSpec(
            name=name,
            architecture=family.architecture,
            runs=runs,
            mtp_runs=mtp_runs,
            max_seq_len=max_seq_len,
            assumptions=config.assumptions,
        )
    except ValueError as error:
        config.fail(contradiction(error, {}, config))


def _largest_numbers(data: Mapping[str, Any], path: str = "") -> list[tuple[int, str]]:
    """The five largest whole numbers with their keys."""
    found = [(value, f"{path}{shown_key(key)}") for key, value in data.items() if type(value) is int]
    for key, value in data.items():
        if isinstance(value, Mapping):
            found += _largest_numbers(value, f"{path}{shown_key(key)}.")
    return sorted((pair for pair in found if pair[0] <= MAX_TOKENS), reverse=True)[:5]


def family_of(data: dict[str, Any], where: str) -> tuple[Family, str]:
    """The family of the class that the config names, and what was assumed to find it (or an empty text)."""
    architectures, model_type = data.get("architectures"), data.get("model_type")
    if model_type is not None and (not isinstance(model_type, str) or not model_type.strip()):
        raise BadInputError(f"{where}: model_type is {shown(model_type)}, but must be a text such as 'llama'")
    if architectures is None or architectures == []:
        foreign = other_schema(data)
        if foreign is not None:
            raise BadInputError(
                f"{where}: is not a Hugging Face config; its keys are those of {foreign}; give the config.json of the "
                "model, or the name of a preset"
            )
        if model_type is None:
            raise BadInputError(
                f"{where}: has neither architectures nor model_type, so nothing says how its keys are meant; add "
                "the name of its class as a list under architectures, as transformers writes it"
            )
        for family in families():
            if family.model_type == model_type:
                return family, f"The class is {family.architecture}, taken from model_type {model_type!r}."
        raise UnknownArchitectureError(
            f"{where}: architectures is missing and model_type is {shown(model_type)}, which is not known"
            + _similar(model_type, [family.model_type for family in families()])
        )
    if not isinstance(architectures, list) or not isinstance(architectures[0], str) or not architectures[0].strip():
        raise BadInputError(
            f"{where}: architectures is {shown(architectures)}, but must be a list that begins with the name of a "
            'class, e.g. ["LlamaForCausalLM"]'
        )
    rows = families_of_class(architectures[0])
    several = f"Read as {architectures[0]}, the first of the classes it names." if len(architectures) > 1 else ""
    for family in rows:
        if model_type in (None, family.model_type):
            return family, several
    if rows:
        kind = shown(model_type)
        return rows[0], f"Read as {rows[0].architecture}, the class it names, although model_type is {kind}."
    # Classes that are written alike may be of other models: only those of the same model_type would do.
    known = [family.architecture for family in families() if model_type in (None, family.model_type)]
    raise UnknownArchitectureError(
        f"{where}: architecture {shown(architectures[0])} is not known" + _similar(architectures[0], known)
    )


def _runs(sources: Iterable[RunSource], config: Config) -> tuple[LayerRun, ...]:
    return tuple(run for source in sources for run in source.runs(config))


def _name_of(path: Path) -> str:
    """What a config file calls its model: itself, or for `config.json` its folder, or what the Hub's cache holds there.

    In the cache `models--ORG--NAME/snapshots/REVISION/config.json` is a link to a file that is named by its hash.
    """
    if path.name != "config.json":
        return path.stem
    folder = Path(os.path.abspath(path)).parent
    cached = CACHED.fullmatch(folder.parent.parent.name) if folder.parent.name == "snapshots" else None
    return cached["name"] if cached else folder.name


def _load(path: Path, where: str, name: str) -> RawConfig:
    text = read_text(path, "model config", max_bytes=MAX_CONFIG_BYTES)
    # Configs may hold Infinity, which JSON does not know; transformers writes it as such an object.
    data = parse_json(text, where, constant=lambda constant: {"__float__": constant})
    if not isinstance(data, dict):
        raise BadInputError(f"{where}: holds {json_kind(data)}, but a Hugging Face config is a JSON object")
    return RawConfig(data, name, sha256_of_text(text), where)


def _similar(name: str, known: list[str]) -> str:
    close = alike(name, known)
    return f"; similar ones that are: {', '.join(close)}" if close else ""
