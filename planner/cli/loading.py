"""The model that `--model` names, from whichever source knows it: a family, a trace of its class, or the user's code.

A family reads a config without torch. Only what no family reads is traced, which loads torch and transformers and takes
seconds.
"""

from __future__ import annotations

import os
from typing import Any

from costmodel.errors import BadInputError
from costmodel.spec import ModelSpec
from planner.files import read_text, sha256_of_text
from planner.frameworks.native import NATIVE
from planner.models.errors import UnknownArchitectureError
from planner.models.presets import preset_path
from planner.models.read import FACTORY, LoadedModel, RawConfig, load_config, read_model


def load(text: str) -> LoadedModel:
    """The model of a preset, a `config.json` (file or folder) or `module:factory`.

    Raises BadInputError in one sentence for what is none of these, cannot be read or cannot be traced; MissingError
    where tracing needs transformers and it is not installed.
    """
    if names_factory(text):
        return _trace_factory(text)
    raw = load_config(text)
    try:
        spec = read_model(raw.data, raw.where, raw.name)
    except UnknownArchitectureError:
        return _trace_class(raw)
    return LoadedModel(raw.data, spec, raw.sha256, raw.where)


def names_factory(text: str) -> bool:
    """Whether `text` is `module:factory`, and neither a preset nor a file."""
    return FACTORY.fullmatch(text) is not None and preset_path(text) is None and not os.path.lexists(text)


def refuse_to_train(hf_config: dict[str, Any], model: ModelSpec, what: str) -> None:
    """Raise BadInputError where `model` is none that is trained and measured here; `what` names its file."""
    if "factory" in hf_config:
        raise BadInputError(
            f"{what}: its model is built by {hf_config['factory']}, but planner trains and measures Hugging Face "
            "models only; size it with show, solve or check, and train it with your own code in the layout of the plan"
        )
    if model.architecture not in NATIVE.trains:
        raise BadInputError(
            f"{what}: its model is a {model.architecture}, but planner trains and measures {', '.join(NATIVE.trains)} "
            "only; plan it with solve from published figures (--cluster), and train it with a framework of your own"
        )


def _trace_class(raw: RawConfig) -> LoadedModel:
    from profiler.tracing import trace_config

    return LoadedModel(raw.data, trace_config(raw.data, raw.where, raw.name), raw.sha256, raw.where)


def _trace_factory(text: str) -> LoadedModel:
    from profiler.tracing import Factory, trace_factory

    factory = Factory(text)
    # The file that holds the factory stands for the model; code that it imports is not hashed.
    source = text if factory.source is None else read_text(factory.source, "module of the factory")
    sha256 = sha256_of_text(source)
    return LoadedModel({"factory": text}, trace_factory(factory), sha256, f"module:factory {text}")
