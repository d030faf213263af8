"""A model's config as a tree of keys: reads single values with their ranges, and remembers what was assumed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from costmodel.errors import BadInputError
from costmodel.spec.shown import shown

STAND_IN = 64
"""Takes the place of a size that is missing until the config is refused: a number that most others divide or are
multiples of."""


class Config:
    """The keys of one object of a `config.json`. Nested objects share the list of assumptions and know their path."""

    def __init__(self, data: Mapping[str, Any], where: str, architecture: str, path: str = "") -> None:
        """`where` names the file in messages, `architecture` the class whose defaults count."""
        self.data = data
        self.where = where
        self.architecture = architecture
        self._asked_by = ""
        self._path = path
        self._assumptions: dict[str, None] = {}
        self._sections: dict[str, Config] = {}
        self._read: set[str] = set()
        self._missing: dict[str, tuple[str, int, int]] = {}

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What was filled in, each a sentence, in the order it was first asked for."""
        return tuple(self._assumptions)

    def assume(self, sentence: str) -> None:
        """Remember `sentence`; the same one is kept once."""
        self._assumptions.setdefault(sentence)

    def place(self, key: str) -> str:
        """The key with its path inside the file, e.g. `text_config.hidden_size`."""
        return f"{self._path}{key}"

    def has(self, key: str) -> bool:
        """Whether the key is there with a value other than null."""
        return self.data.get(key) is not None

    def was_read(self, key: str) -> bool:
        """Whether the value under `key` was asked for."""
        return key in self._read

    @property
    def sections(self) -> Mapping[str, Config]:
        """The objects that were read as such, by key."""
        return self._sections

    def _value(self, key: str) -> Any:
        self._read.add(key)
        return self.data.get(key)

    def fail(self, message: str) -> NoReturn:
        """Raise BadInputError: the file, then `message`."""
        raise BadInputError(f"{self.where}: {message}")

    def section(self, key: str, default: Mapping[str, Any] | None = None) -> Config:
        """The object under `key`; `default` where the key is missing or null. Raises BadInputError without one."""
        if key not in self._sections:
            value = self._value(key)
            if value is None and default is not None:
                value = default
            if not isinstance(value, dict):
                state = "missing" if key not in self.data else "null" if value is None else f"{shown(value)}"
                self.fail(f"{self.place(key)} is {state}; an object with the keys of a model is needed")
            section = Config(value, self.where, self.architecture, f"{self.place(key)}.")
            section._assumptions = self._assumptions
            section._missing = self._missing
            self._sections[key] = section
        return self._sections[key]

    def integer(self, key: str, least: int, most: int) -> int:
        """The whole number under `key`, which must be there and lie in `least..most`.

        One that is missing is noted for `refuse_missing`, and some number returned, so that one sentence names all.
        """
        value = self._value(key)
        if value is None:
            self._missing[self.place(key)] = ("null" if key in self.data else "missing", least, most)
            return min(max(STAND_IN, least), most)
        if type(value) is not int or not least <= value <= most:
            self.fail(f"{self.place(key)} is {shown(value)}, but must be a whole number from {least} to {most}")
        return value

    def refuse_missing(self) -> None:
        """Raise BadInputError with every whole number that was asked for and is not there, if any."""
        asked = f", which {self._asked_by} asks for" if self._asked_by else ""
        if len(self._missing) == 1:
            [(place, (state, least, most))] = self._missing.items()
            self.fail(f"key {place} is {state}; a whole number from {least} to {most} is needed{asked}")
        if self._missing:
            *others, last = self._missing
            self.fail(
                f"keys {', '.join(others)} and {last} are missing or null; a whole number is needed for each{asked}"
            )

    def asked_by(self, key: str) -> None:
        """Refuse what is missing so far; what is asked for from now on is needed because of the value under `key`."""
        self.refuse_missing()
        self._asked_by = f"{self.place(key)} = {shown(self.data.get(key))}"

    def boolean(self, key: str) -> bool:
        """The switch under `key`, which must be there."""
        value = self._value(key)
        if not isinstance(value, bool):
            self.fail(f"{self.place(key)} is {shown(value)}, but must be true or false")
        return value

    def word(self, key: str, known: Iterable[str]) -> str:
        """The text under `key`, which must be there and one of `known`."""
        value = self._value(key)
        known = tuple(known)
        if not isinstance(value, str) or value not in known:
            self.fail(f"{self.place(key)} is {shown(value)}, but must be one of {', '.join(known)}")
        return value

    def items(self, key: str, length: int, what: str) -> list[Any]:
        """The list under `key`, which must be there and have `length` entries, as many as `what` says."""
        value = self._value(key)
        if not isinstance(value, list):
            self.fail(f"{self.place(key)} is {shown(value)}, but must be a list with {length} entries ({what})")
        if len(value) != length:
            self.fail(f"{self.place(key)} has {len(value)} entries, but {what} is {length}; they must be as many")
        return value
