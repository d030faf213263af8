"""The parameter count of a mutant from somewhere else than the reader: a formula, or transformers' own class."""

from __future__ import annotations

from typing import Any

from planner.models.nested_sizes import fill_nested
from planner.models.read import family_of
from tests.fuzz.formulas import FORMULAS, Keys
from tests.fuzz.samples import LAYER_KEYS

MAX_BUILT_LAYERS = 128
"""Of all stacks together, in a class that is built to be counted; more take several seconds."""


class NotCountedError(Exception):
    """Neither a formula nor transformers counts the config; says why."""


def counted_by_formula(data: dict[str, Any], architecture: str) -> int:
    """The formula's count.

    What nested objects leave out is filled in first; tests/models hold those sizes to the classes of transformers.
    """
    model_type = family_of({**data, "architectures": [architecture]}, "")[0].model_type
    return FORMULAS[architecture](Keys(fill_nested(data, model_type)[0]))


def counted_by_class(data: dict[str, Any], architecture: str) -> int:
    """The count of the class, built on the meta device. Raises NotCountedError where it cannot be built."""
    import transformers

    from tests.models.reference_counts import count_parameters

    if not hasattr(transformers, architecture):
        raise NotCountedError("not a class of transformers")
    if _num_layers(data) > MAX_BUILT_LAYERS:
        raise NotCountedError("too many layers to build")
    try:
        return count_parameters({**data, "architectures": [architecture]})
    except Exception as error:
        raise NotCountedError(f"{type(error).__name__}: {error}"[:300]) from error


def _num_layers(data: dict[str, Any]) -> int:
    own = sum(value for key in LAYER_KEYS if type(value := data.get(key)) is int)
    return own + sum(_num_layers(value) for value in data.values() if isinstance(value, dict))
