"""Sources that are one key: its names, its range, its default, and what null means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from costmodel.spec.shown import shown
from planner.models.config import Config
from planner.models.keys.quotient import Quotient
from planner.models.keys.source import REQUIRED, value_of


@dataclass(frozen=True)
class Key:
    """One key, under its own name or one of `aliases`, that the class reads alike.

    `default` is the class's own where the key is missing, `null` where it is null; both are constants or sources. An
    assumption says that one was taken. Sizes that make the model never have a default. Where `null` is not given, null
    stands for a default that is no number, and is refused in place of one that is, as transformers does.
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
        if is_null and default is self.default and type(default) in (int, float):
            config.fail(
                f"key {config.place(self._null_name(config))} is null; give a number, or leave the key out for "
                f"{default:,}, the default of {config.architecture}"
            )
        if isinstance(default, Quotient):
            value = default.quotient(config, layer, f"give sizes that divide, or {config.place(self.name)}")
        else:
            value = value_of(default, config, layer)
        self._note(config, value, is_default=default is self.default)
        return value

    def _null_name(self, config: Config) -> str:
        return next(name for name in (self.name, *self.aliases) if name in config.data)

    def _checked(self, config: Config, name: str) -> Any:
        raise NotImplementedError

    def _note(self, config: Config, value: Any, *, is_default: bool) -> None:
        """Say that a default was taken; not for switches, where a missing key means what anyone expects."""


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
