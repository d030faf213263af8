"""What somebody may have meant by a name that is not known: one way to guess it for presets, keys and classes."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

MAX_CHARS = 200
"""Of a name that is compared; comparing takes as long as the square of its length."""
MAX_ALIKE = 3
MAX_HOLDING = 5

SEPARATORS = re.compile(r"[\W_]+")


def alike(name: str, known: Iterable[str], limit: int = MAX_ALIKE) -> tuple[str, ...]:
    """The names spelled almost as `name` is, the nearest first."""
    return tuple(difflib.get_close_matches(name[:MAX_CHARS], list(dict.fromkeys(known)), n=limit))


def meant(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """The names that hold `name`, those that begin with it first, else those spelled alike.

    Known names are in lower case; of `name` neither case nor separators nor a folder or owner before `/` count.
    """
    last = name.rpartition("/")[2].lower()
    letters = _letters(last)
    names = list(known)
    holding = [other for other in names if letters in _letters(other)] if len(letters) > 1 else []
    holding.sort(key=lambda other: not _letters(other).startswith(letters))
    return tuple(holding[:MAX_HOLDING]) or alike(last, names)


def _letters(name: str) -> str:
    return SEPARATORS.sub("", name)
