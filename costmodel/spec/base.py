"""The base of all value types: immutable, validated where they are made, JSON in and out with a schema key."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable
from enum import StrEnum
from typing import Any, ClassVar, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    ModelWrapValidatorHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from costmodel.errors import BadInputError
from costmodel.spec.faults import describe, mistaken_switch
from costmodel.spec.shown import MAX_SHOWN, shown

MAX_DEPTH = 64
"""Levels of lists and objects in a file; far above any of ours, and far below what a JSON writer can nest."""
MAX_DIGITS = 1000
"""Of a whole number in a file. Python itself refuses to read more than 4,300."""


class Source(StrEnum):
    """Where a number comes from, from the most to the least trustworthy."""

    MEASURED = "measured"
    """Timed or counted on the device at hand."""
    FITTED = "fitted"
    """Interpolated or scaled from measurements of the device at hand."""
    ANALYTIC = "analytic"
    """Computed from published figures of the device."""
    ASSUMED = "assumed"
    """A stated default that nobody measured or published for this case."""

    @staticmethod
    def worst(*sources: Source) -> Source:
        """The least trustworthy of `sources`: what a sum or product of such numbers is worth."""
        return max(sources, key=list(Source).index, default=Source.ANALYTIC)


class Spec(BaseModel):
    """A frozen value that refuses unknown keys, NaN and infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    @classmethod
    def from_data(cls, data: Any, where: str) -> Self:
        """Validate parsed JSON; raises BadInputError with one sentence for the first fault."""
        try:
            value = cls.model_validate(data)
        except ValidationError as error:
            raise BadInputError(describe(error, cls, where, data)) from None
        mistaken = mistaken_switch(data, value.model_dump(mode="json"))
        if mistaken:
            raise BadInputError(f"{where}: {mistaken}")
        return value


class Document(Spec):
    """A value that stands alone as JSON: its first key is `schema`, e.g. `"plan/1"`."""

    SCHEMA: ClassVar[str]

    @model_serializer(mode="wrap")
    def _write_schema(self, handler: Any) -> dict[str, Any]:
        return {"schema": self.SCHEMA, **handler(self)}

    @model_validator(mode="wrap")
    @classmethod
    def _read_schema(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if isinstance(data, dict) and "schema" in data:
            if data["schema"] != cls.SCHEMA:
                raise ValueError(f"schema is {shown(data['schema'])}, but this version reads {cls.SCHEMA!r}")
            data = {key: value for key, value in data.items() if key != "schema"}
        return handler(data)

    def to_json(self, indent: int | None = 2) -> str:
        """JSON text with a trailing newline; the same value gives the same bytes."""
        return json.dumps(self.model_dump(mode="json"), indent=indent, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str, where: str) -> Self:
        """Parse `text`; `where` names its origin in errors.

        Raises BadInputError for anything that is not exactly one value of this type and schema version.
        """
        data = parse_json(text, where)
        if not isinstance(data, dict) or "schema" not in data:
            raise BadInputError(f"{where}: has no `schema` key; expected a file with schema {cls.SCHEMA!r}")
        if data["schema"] != cls.SCHEMA:
            raise BadInputError(f"{where}: schema is {shown(data['schema'])}, but {cls.SCHEMA!r} is needed here")
        return cls.from_data(data, where)


def fingerprint(data: Any) -> str:
    """Twelve hexadecimal digits of the SHA-256 of the canonical JSON of `data`: equal data have equal ones."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def parse_json(text: str, where: str, constant: Callable[[str], Any] | None = None) -> Any:
    """Parse strict JSON: no NaN, no number beyond a float, no duplicate key, no half of a surrogate pair, no deep nest.

    With `constant`, NaN, Infinity and -Infinity become what it makes of the word. What is returned can be written as
    JSON again. Raises BadInputError, with line and column where there is one.
    """
    try:
        data = json.loads(
            text,
            parse_constant=constant or _refuse_constant,
            parse_float=_finite,
            parse_int=_whole,
            object_pairs_hook=_refuse_duplicates,
        )
    except json.JSONDecodeError as error:
        raise BadInputError(
            f"{where}: not valid JSON at line {error.lineno}, column {error.colno}: {error.msg}"
        ) from None
    except RecursionError:
        raise BadInputError(f"{where}: not valid JSON: nested too deeply") from None
    except _NumberError as error:
        line = _line_of_number(text, error.number)
        raise BadInputError(f"{where}: not valid JSON at line {line}: {error}") from None
    except ValueError as error:
        raise BadInputError(f"{where}: not valid JSON: {error}") from None
    if _is_deeper_than(data, MAX_DEPTH):
        raise BadInputError(f"{where}: is nested too deeply: more than {MAX_DEPTH} levels")
    if "\\u" in text:
        try:
            json.dumps(data, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise BadInputError(
                f"{where}: {_place_of_no_text(data)} holds an escape from \\ud800 to \\udfff without its other half, "
                "which is no text"
            ) from None
    return data


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number that JSON knows")


class _NumberError(ValueError):
    """A number that is not taken, as it stands in the text."""

    def __init__(self, number: str, fault: str) -> None:
        super().__init__(f"{shown(number)} {fault}")
        self.number = number


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise _NumberError(text, "is beyond the largest number")
    return number


def _whole(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise _NumberError(text, f"has more than {MAX_DIGITS} digits")
    return int(text)


def _line_of_number(text: str, number: str) -> int:
    """The first line where `number` stands by itself."""
    found = re.search(rf"(?<![^\s:,\[]){re.escape(number)}(?![^\s,\]}}])", text)
    return text.count("\n", 0, found.start() if found else len(text)) + 1


def _place_of_no_text(data: Any, place: str = "") -> str | None:
    """The keys, with dots between them, to the first text with half of a surrogate pair; None where there is none."""
    if isinstance(data, str):
        named = place if place.isprintable() and len(place) <= MAX_SHOWN else shown(place)
        return None if _is_text(data) else named or "it"
    for key, child in _children(data):
        if isinstance(key, str) and not _is_text(key):
            return "a key"
        found = _place_of_no_text(child, f"{place}.{key}" if place else str(key))
        if found is not None:
            return found
    return None


def _children(value: Any) -> list[tuple[Any, Any]]:
    if isinstance(value, dict):
        return list(value.items())
    return list(enumerate(value)) if isinstance(value, list) else []


def _is_text(value: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in value)


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise ValueError(f"key {shown(key)} stands twice")
        result[key] = value
    return result


def _is_deeper_than(data: Any, depth: int) -> bool:
    level = [data]
    for _ in range(depth + 1):
        level = [item for item in level if isinstance(item, dict | list)]
        level = [child for item in level for child in (item.values() if isinstance(item, dict) else item)]
    return bool(level)
