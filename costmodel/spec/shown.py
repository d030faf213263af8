"""How a value that stands in a JSON file is shown in a sentence: as JSON spells it, and cut where it is long."""

from __future__ import annotations

import json
import re
from typing import Any

MAX_SHOWN = 60
"""Characters of a value in a message."""
CONSTANT = re.compile(r'\{"__float__": "(NaN|-?Infinity)"\}')
"""What stands in data for a word of a file that JSON does not know."""


def shown(value: Any) -> str:
    """A value as it stands in its file; a text alone is quoted as words of a sentence are.

    What JSON lacks (a date, in YAML) is shown as Python writes it.
    """
    if isinstance(value, str):
        return cut(repr(value))
    if value is not None and not isinstance(value, dict | list | tuple | int | float):
        return cut(str(value))
    text = json.dumps(value, ensure_ascii=False, default=str)
    return cut(CONSTANT.sub(r"\1", text if text.isprintable() else json.dumps(value, default=str)))


def shown_key(key: str) -> str:
    """A key that the file makes up, in a message: as it is, or quoted where it cannot be printed, and cut."""
    return cut(key if key.isprintable() and key.strip() == key != "" else repr(key))


def cut(text: str) -> str:
    """`text` in at most `MAX_SHOWN` characters."""
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "..."


def json_kind(value: Any) -> str:
    """What a JSON value is, in words: `a list`, `a text`."""
    match value:
        case bool() | None:
            return json.dumps(value)
        case dict():
            return "an object"
        case list():
            return "a list"
        case str():
            return "a text"
        case _:
            return "a number"
