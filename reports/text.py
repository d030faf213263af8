"""Makes text from files safe to show: no control, direction-changing or unpaired surrogate characters."""

from __future__ import annotations

import unicodedata

_KEPT = {"\n", "\t"}
_HIDDEN_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def visible(text: str) -> str:
    """`text` with every character that a reader cannot see, or that XML forbids, replaced by U+FFFD.

    Direction overrides go too: they can make a page say something other than its source.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character if character in _KEPT or unicodedata.category(character) not in _HIDDEN_CATEGORIES else REPLACEMENT
        for character in text
    )


def one_line(text: str, max_chars: int) -> str:
    """`text` for a label in a figure: visible, on one line, cut with an ellipsis after `max_chars` characters."""
    line = " ".join(visible(text).split())
    return line if len(line) <= max_chars else line[: max_chars - 1].rstrip() + "…"
