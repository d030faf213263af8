"""Words in which a family says where a value comes from: a key with its range, its default and what null means.

Each is a frozen value with `read(config, layer)`, so that a family is data. `layer` is the number of a block, from 0;
most values do not depend on it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from pydantic import ValidationError

from costmodel.spec import Kind
from planner.models.config import Config, shown

MAX_LAYERS = 1_000
MAX_WIDTH = 2**23
MAX_COUNT = 2**17
MAX_VOCAB = 2**26
MAX_TOKENS = 2**31
"""Far above any model there is; beyond them a value is a mistake."""


class Source(Protocol):
    """Where a value comes from."""

    def read(self, config: Config, layer: int) -> Any:
        """The value for block `layer`; raises BadInputError naming the key at fault."""
        ...


class _Required:
    """Stands for a default that there is none: the key must be given."""


REQUIRED = _Required()


def value_of(source: Any, config: Config, layer: int = 0) -> Any:
    """What `source` yields: a `Source` is read, anything else stands for itself."""
    return source.read(config, layer) if hasattr(source, "read") else source


@dataclass(frozen=True)
class Key:
    """One key, under its own name or one of `aliases`, that the class reads alike.

    `default` is the class's own where the key is missing, `null` where it is null (the default, if not given); both
    are constants or sources. An assumption says that one was taken. Sizes that make the model never have a default.
    """

    name: str
    default: Any = REQUIRED
    null: Any = REQUIRED
    aliases: tuple[str, ...] = ()

    def read(self, config: Config, layer: int) -> Any:
        """The value, checked; two names with different values contradict each other."""
        given = [name for name in (self.name, *self.aliases) if config.data.get(name) is not None]
        values = [self._checked(config, name) for name in given]
        if values:
            for name, value in zip(given[1:], values[1:], strict=True):
                if value != values[0]:
                    config.fail(
                        f"{config.place(given[0])} is {shown(values[0])}, but {config.place(name)} is {shown(value)}, "
                        "and both mean the same; give one"
                    )
            return values[0]
        is_null = any(name in config.data for name in (self.name, *self.aliases))
        default = self.null if is_null and self.null is not REQUIRED else self.default
        if default is REQUIRED:
            return self._checked(config, self.name)
        if isinstance(default, Quotient):
            value = default.quotient(config, layer, f"give sizes that divide, or {config.place(self.name)}")
        else:
            value = value_of(default, config, layer)
        self._note(config, value, is_default=default is self.default)
        return value

    def _checked(self, config: Config, name: str) -> Any:
        raise NotImplementedError

    def _note(self, config: Config, value: Any, *, is_default: bool) -> None:
        """Say that a default was taken; not for switches, where a missing key means what anyone expects."""


@dataclass(frozen=True)
class Size(Key):
    """A whole number."""

    most: int = MAX_COUNT
    least: int = 1

    def _checked(self, config: Config, name: str) -> int:
        return config.integer(name, self.least, self.most)

    def _note(self, config: Config, value: Any, *, is_default: bool) -> None:
        if isinstance(self.default, int) and is_default:
            config.assume(f"{config.place(self.name)} is not given: {value:,}, the default of {config.architecture}.")
        elif isinstance(self.default, Key):
            origin = config.place(self.default.name)
            config.assume(f"{config.place(self.name)} is not given: {value:,}, as {origin}.")


@dataclass(frozen=True)
class Flag(Key):
    """A switch. Null is off, whatever the default: the classes ask only whether the value is true."""

    null: Any = False

    def _checked(self, config: Config, name: str) -> bool:
        return config.boolean(name)

    def _note(self, config: Config, value: Any, *, is_default: bool) -> None:
        if not is_default and self.default is True:
            config.assume(f"{config.place(self.name)} is null, which the class takes for {shown(value)}.")


@dataclass(frozen=True)
class Word(Key):
    """One of some texts."""

    known: tuple[str, ...] = ()

    def _checked(self, config: Config, name: str) -> str:
        return config.word(name, self.known)


def layers(name: str, **more: Any) -> Size:
    """A number of layers."""
    return Size(name, most=MAX_LAYERS, **more)


def width(name: str, **more: Any) -> Size:
    """A width of hidden states, heads or feed-forward networks."""
    return Size(name, most=MAX_WIDTH, **more)


def vocabulary(name: str = "vocab_size", **more: Any) -> Size:
    """A number of tokens that the model knows."""
    return Size(name, most=MAX_VOCAB, **more)


def tokens(name: str, **more: Any) -> Size:
    """A number of positions in a sequence."""
    return Size(name, most=MAX_TOKENS, **more)


@dataclass(frozen=True)
class Computed:
    """A value that a function of the config and the block yields, for what a key alone does not say."""

    function: Callable[[Config, int], Any]

    def read(self, config: Config, layer: int) -> Any:
        """What the function yields."""
        return self.function(config, layer)


@dataclass(frozen=True)
class Times:
    """`factor` times another value."""

    factor: int
    source: Source

    def read(self, config: Config, layer: int) -> int:
        """The product."""
        return int(self.factor * self.source.read(config, layer))


@dataclass(frozen=True)
class Sum:
    """The sum of some values."""

    terms: tuple[Any, ...]

    def read(self, config: Config, layer: int) -> int:
        """The sum."""
        return int(sum(value_of(term, config, layer) for term in self.terms))


@dataclass(frozen=True)
class Quotient:
    """One key divided by another, which must go without remainder."""

    dividend: Size
    divisor: Size

    def read(self, config: Config, layer: int) -> int:
        """The quotient; raises BadInputError where there is a remainder."""
        return self.quotient(config, layer, "give sizes that divide")

    def quotient(self, config: Config, layer: int, what_would_do: str) -> int:
        """The quotient; raises BadInputError, which says `what_would_do`, where there is a remainder."""
        dividend, divisor = self.dividend.read(config, layer), self.divisor.read(config, layer)
        if dividend % divisor:
            config.fail(
                f"{config.place(self.divisor.name)} = {divisor} does not divide "
                f"{config.place(self.dividend.name)} = {dividend}; {what_would_do}"
            )
        return int(dividend // divisor)


def origin(source: Any, config: Config) -> str:
    """The keys that a value comes from, for messages: `head_dim`, or `hidden_size / num_attention_heads`."""
    while isinstance(source, Key) and not config.has(source.name) and isinstance(source.default, Key | Quotient):
        source = source.default
    if isinstance(source, Quotient):
        return f"{config.place(source.dividend.name)} / {config.place(source.divisor.name)}"
    return config.place(source.name) if isinstance(source, Key) else "head_dim"


@dataclass(frozen=True)
class Choose:
    """The case that another value picks, for each block anew."""

    by: Source
    cases: Mapping[Any, Any]

    def read(self, config: Config, layer: int) -> Any:
        """The value of the case; raises BadInputError for one that is not there."""
        picked = self.by.read(config, layer)
        if picked not in self.cases:
            config.fail(
                f"block {layer} is of kind {shown(picked)}, but only {', '.join(map(str, self.cases))} are known"
            )
        return value_of(self.cases[picked], config, layer)


@dataclass(frozen=True)
class PerLayer:
    """The entry of a list with one text per block; `default` yields it where the list is missing or null."""

    name: str
    count: Size
    known: tuple[str, ...]
    default: Any = REQUIRED

    def read(self, config: Config, layer: int) -> str:
        """The entry for `layer`; raises BadInputError where the list has not one entry per block."""
        if not config.has(self.name) and self.default is not REQUIRED:
            return str(value_of(self.default, config, layer))
        what = config.place(self.count.name)
        entries = config.items(self.name, self.count.read(config, layer), what)
        if not isinstance(entries[layer], str) or entries[layer] not in self.known:
            config.fail(
                f"{config.place(self.name)}[{layer}] is {shown(entries[layer])}, but must be one of "
                f"{', '.join(self.known)}"
            )
        return str(entries[layer])


@dataclass(frozen=True)
class In:
    """A value that is read in a nested object, which may be missing where `default` is given."""

    section: str
    source: Any
    default: Mapping[str, Any] | None = None

    def read(self, config: Config, layer: int) -> Any:
        """The value, read there."""
        return value_of(self.source, config.section(self.section, self.default), layer)


@dataclass(frozen=True)
class KindSource:
    """A layer kind, or a part of one, with the source of each of its fields."""

    kind: type[Kind]
    fields: Mapping[str, Any] = field(default_factory=dict)

    def read(self, config: Config, layer: int) -> Kind:
        """The kind with the values of its fields; raises BadInputError where they contradict each other."""
        values = {name: value_of(source, config, layer) for name, source in self.fields.items()}
        try:
            return self.kind(**values)
        except ValueError as error:
            config.fail(contradiction(error, self.fields, config))

    def but(self, **changes: Any) -> KindSource:
        """The same with other sources for some fields."""
        return KindSource(self.kind, {**self.fields, **changes})


def part(kind: type[Kind], **fields: Any) -> KindSource:
    """The source of a `kind`; fields that are not named take the kind's own default."""
    return KindSource(kind, fields)


def contradiction(error: ValueError, fields: Mapping[str, Any], config: Config) -> str:
    """What a kind refused, in the words of the keys that its fields come from."""
    message = str(error)
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        name = ".".join(str(place) for place in first["loc"])
        message = first["msg"].removeprefix("Value error, ")
        if name:
            message = f"{name} is {shown(first['input'])}: {message[0].lower()}{message[1:]}"
    for field_name, source in fields.items():
        key = f"{source.section}." if isinstance(source, In) else ""
        source = source.source if isinstance(source, In) else source
        if isinstance(source, Key):
            message = re.sub(rf"\b{field_name}\b", config.place(f"{key}{source.name}"), message)
    return message
