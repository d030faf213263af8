"""What is at fault, said in the keys that the user wrote and not in the fields they are read into."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from costmodel.spec.faults import fault
from planner.models.config import Config
from planner.models.keys.combined import Choose
from planner.models.keys.key import Key
from planner.models.keys.nested import In
from planner.models.keys.quotient import Quotient


def origin(source: Any, config: Config) -> str:
    """What the width of a head comes from, for messages: `head_dim`, or `hidden_size / num_attention_heads`."""
    while isinstance(source, Key) and not config.has(source.name) and isinstance(source.default, Key | Quotient):
        source = source.default
    if isinstance(source, Quotient):
        return f"{config.place(source.dividend.name)} / {config.place(source.divisor.name)}"
    key = _key_behind(source, config)
    return "width of a head" if key is None else config.place(key)


def contradiction(error: ValueError, fields: Mapping[str, Any], config: Config) -> str:
    """What a kind refused, in the words of the keys that its fields come from."""
    message = str(error)
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        message = fault(first, ".".join(str(place) for place in first["loc"]))
    keys = {name: key for name, source in fields.items() if (key := _key_behind(source, config)) is not None}
    # A field is named with its value or its divisors; elsewhere the same letters are a word. All at once, since a key
    # may be called as another field is.
    named = rf"\b({'|'.join(map(re.escape, keys))})(?: (-?\d+)\b|(?= is\b| -?\d| that divide it))"

    def replaced(found: re.Match[str]) -> str:
        place = config.place(keys[found[1]])
        if found[2] is None:
            return place
        state = "" if _is_given(fields[found[1]], config) else f" (the default of {config.architecture})"
        return f"{place} {found[2]}{state}"

    return re.sub(named, replaced, message) if keys else message


def _is_given(source: Any, config: Config) -> bool:
    """Whether the file holds the value of a source that has a key behind it, under that key or another name of it."""
    match source:
        case Key():
            return any(config.has(name) for name in (source.name, *source.aliases))
        case In():
            return _is_given(source.source, config.section(source.section))
        case Choose():
            return _is_given(source.cases.get(source.by.read(config, 0)), config)
    return True


def _key_behind(source: Any, config: Config) -> str | None:
    """The key that a value is read from as it stands; None where it is made of several, or of none."""
    match source:
        case Key():
            return next((name for name in (source.name, *source.aliases) if config.has(name)), source.name)
        case In():
            inner = _key_behind(source.source, config.section(source.section))
            return None if inner is None else f"{source.section}.{inner}"
        case Choose():
            return _key_behind(source.cases.get(source.by.read(config, 0)), config)
    return None
