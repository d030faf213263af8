"""Whether the raw config and the layers in one file are the same model, since a file may have been edited by hand."""

from __future__ import annotations

from typing import Any

from costmodel.errors import BadInputError
from costmodel.spec import ModelSpec, Traced
from costmodel.spec.shown import shown
from planner.models.errors import UnknownArchitectureError
from planner.models.read import FACTORY, read_model

MODEL_FIELDS = ("architecture", "runs", "mtp_runs", "max_seq_len")
"""What makes a model: not what it is called, nor what was said when it was read."""


def check_agreement(hf_config: dict[str, Any], model: ModelSpec, where: str) -> None:
    """Raise BadInputError, which names the first field that differs, unless `hf_config` makes the layers of `model`.

    A config that a family reads is read anew. Of one that was traced, or that the user's own code stands for, only the
    name of class or factory is compared, and that there are layers as tracing makes them: to make them again takes
    seconds, or executes code.
    """
    stands = model.model_dump(mode="json", include=set(MODEL_FIELDS))
    difference = _first_difference(stands, _made(hf_config, model, where), "model")
    if difference:
        raise BadInputError(f"{where}: hf_config and model are not one model: {difference}; make the file anew")


def _made(hf_config: dict[str, Any], model: ModelSpec, where: str) -> dict[str, Any]:
    """The fields of the model that `hf_config` makes, as many as can be had at once."""
    if "factory" in hf_config:
        factory = hf_config["factory"]
        if len(hf_config) > 1 or not isinstance(factory, str) or not FACTORY.fullmatch(factory):
            raise BadInputError(
                f"{where}: hf_config.factory is {shown(factory)}, but must be module:factory and stand alone; make the "
                "file anew"
            )
        _check_traced(model, where, f"factory is {shown(factory)}")
        return {"architecture": factory}
    try:
        made = read_model(hf_config, f"{where}: hf_config", model.name)
    except UnknownArchitectureError:
        named = hf_config.get("architectures")
        key = "architectures" if named else "model_type"
        _check_traced(model, where, f"{key} is {shown(hf_config.get(key))}")
        return {"architecture": named[0]} if named else {}
    return made.model_dump(mode="json", include=set(MODEL_FIELDS))


def _check_traced(model: ModelSpec, where: str, names: str) -> None:
    """Raise BadInputError unless `model` has layers known by tracing, as a class that no family reads must have."""
    if not any(isinstance(run.layer, Traced) for run in model.runs):
        raise BadInputError(
            f"{where}: hf_config.{names}, which no family reads, but no layer of model is known by tracing, so the two "
            "are not one model; make the file anew"
        )


def _first_difference(stands: Any, made: Any, path: str) -> str:
    """Where and how two trees of JSON differ first, or an empty text; keys that `made` lacks are not compared."""
    if isinstance(stands, dict) and isinstance(made, dict):
        found = (_first_difference(stands.get(key), made[key], f"{path}.{key}") for key in made)
        return next(filter(None, found), "")
    if isinstance(stands, list) and isinstance(made, list):
        pairs = enumerate(zip(stands, made, strict=False))
        found = (_first_difference(*pair, f"{path}[{index}]") for index, pair in pairs)
        num_stands, num_made = len(stands), len(made)
        counts = f"{path} has {num_stands} entries, but hf_config makes {num_made}" if num_stands != num_made else ""
        return next(filter(None, found), counts)
    return "" if stands == made else f"{path} is {shown(stands)}, but hf_config makes it {shown(made)}"
