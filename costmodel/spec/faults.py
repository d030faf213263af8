"""What is wrong with a document, in one sentence: where, which key, its value, and what would do.

pydantic finds the faults; its own words speak of inputs, tuples and tags, which nobody has written into a file.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from costmodel.spec.shown import shown, shown_key

NEEDED: Mapping[str, str] = {
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "dict_type": "an object",
    "enum": "one of {expected}",
    "finite_number": "a finite number",
    "float_parsing": "a number",
    "float_type": "a number",
    "greater_than": "above {gt}",
    "greater_than_equal": "at least {ge}",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a smaller whole number",
    "int_type": "a whole number",
    "less_than": "below {lt}",
    "less_than_equal": "at most {le}",
    "list_type": "a list",
    "literal_error": "{expected}",
    "model_attributes_type": "an object",
    "model_type": "an object",
    "string_pattern_mismatch": "a text of the form {pattern}",
    "string_too_short": "a text of {min_length} or more characters",
    "string_type": "a text",
    "too_long": "of {max_length} or fewer entries",
    "too_short": "of {min_length} or more entries",
    "tuple_type": "a list",
    "union_tag_not_found": "an object with the key {discriminator}",
}
"""By pydantic's name of a fault: what the value must be."""


def describe(error: ValidationError, read_as: type[BaseModel], where: str, data: Any) -> str:
    """The sentence for the first fault of `data`, which was to be `read_as`; `where` names the origin of `data`."""
    first = error.errors(include_url=False)[0]
    place = _place(first, data)
    match first["type"]:
        case "extra_forbidden":
            known = {name for kind in _kinds_at(read_as, first["loc"][:-1]) for name in kind.model_fields}
            return f"{where}: unknown key '{place}'; {offer(str(first['loc'][-1]), known)}"
        case "missing":
            return f"{where}: key '{place}' is missing"
        case "model_type" | "model_attributes_type":
            return f"{where}: {fault(first, place)}{_keys_needed(_kinds_at(read_as, first['loc']))}"
    return f"{where}: {fault(first, place)}"


def offer(key: str, known: Collection[str]) -> str:
    """What would do instead of the unknown `key`: the known one that is spelled alike, else all that are known."""
    close = difflib.get_close_matches(key, known, n=1)
    return f"did you mean {close[0]!r}" if close else f"known are {', '.join(sorted(known))}"


def _keys_needed(kinds: Collection[type[BaseModel]]) -> str:
    """What an object holds that may be of one kind; of several its own key says first which."""
    if len(kinds) != 1:
        return ""
    (kind,) = kinds
    needed = [name for name, field in kind.model_fields.items() if field.is_required()]
    return f" with {', '.join(needed)}" if needed else f" with any of {', '.join(kind.model_fields)}"


def _kinds_at(read_as: type[BaseModel], steps: Sequence[int | str]) -> tuple[type[BaseModel], ...]:
    """The kinds of object that may stand at the end of pydantic's path `steps`."""
    kinds: tuple[type[BaseModel], ...] = (read_as,)
    for step in steps:
        if isinstance(step, int):
            continue
        fields = [kind.model_fields[step].annotation for kind in kinds if step in kind.model_fields]
        # A step that is no key is the tag of one kind, or the key of a mapping.
        tagged = tuple(kind for kind in kinds if step in {field.default for field in kind.model_fields.values()})
        kinds = (
            tuple(dict.fromkeys(kind for field in fields for kind in _kinds_in(field))) if fields else tagged or kinds
        )
    return kinds


def _kinds_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _kinds_in(inner)


def mistaken_switch(data: Any, read: Any, place: str = "") -> str:
    """What is wrong where `data` has a switch and a number or text was read, or the other way round; else empty.

    To pydantic, as to Python, true is 1. To whoever wrote the file it is not.
    """
    if isinstance(data, dict) and isinstance(read, dict):
        pairs = [(data[key], read[key], _within(place, key)) for key in data if key in read]
    elif isinstance(data, list | tuple) and isinstance(read, list):
        pairs = [(*pair, f"{place}[{number}]") for number, pair in enumerate(zip(data, read, strict=False))]
    elif isinstance(data, bool) != isinstance(read, bool):
        return f"{place} is {shown(data)}, but must be {'true or false' if isinstance(read, bool) else 'a number'}"
    else:
        return ""
    return next(filter(None, (mistaken_switch(*pair) for pair in pairs)), "")


def fault(first: ErrorDetails, place: str) -> str:
    """What is wrong at `place`, the path of the key at fault, which is empty for a whole document."""
    kind, context = first["type"], first.get("ctx", {})
    if kind == "union_tag_invalid":
        key = str(context["discriminator"]).strip("'")
        return f"{place}.{key} is {shown(first['input'][key])}, but must be one of {context['expected_tags']}"
    if kind == "invalid_key":
        return f"key {shown(first['input'])} is no text"
    if kind in NEEDED:
        return f"{place or 'it'} is {shown(first['input'])}, but must be {NEEDED[kind].format_map(_plain(context))}"
    # A sentence of our own, from a validator.
    message = first["msg"].removeprefix("Value error, ")
    if isinstance(first["input"], str | int | float | None):
        place = f"{place} is {shown(first['input'])}"
    return f"{place}: {message}" if first["loc"] else message


def _plain(context: Mapping[str, Any]) -> dict[str, Any]:
    """Bounds as a person writes them: 0, not 0.0."""
    whole = {name: int(bound) for name, bound in context.items() if isinstance(bound, float) and bound.is_integer()}
    return {**context, **whole}


def _place(first: ErrorDetails, data: Any) -> str:
    """The path of keys to a fault, as it stands in the file: without the kinds that pydantic puts between."""
    place = ""
    for number, step in enumerate(first["loc"], start=1):
        if isinstance(step, int) and isinstance(data, list | tuple):
            place, data = f"{place}[{step}]", data[step]
        elif isinstance(data, dict) and (step in data or (number == len(first["loc"]) and first["type"] == "missing")):
            place, data = _within(place, step), data.get(step)
    return place


def _within(place: str, key: Any) -> str:
    return f"{place}.{shown_key(str(key))}" if place else shown_key(str(key))
