"""Keys that hold whole numbers, with how large each kind of them can be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from planner.models.config import Config
from planner.models.keys.key import Key

MAX_LAYERS = 1_000
MAX_WIDTH = 2**23
MAX_COUNT = 2**17
MAX_VOCAB = 2**26
MAX_TOKENS = 2**31
"""Far above any model there is; beyond them a value is a mistake."""


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
