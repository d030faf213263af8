"""Where a config says how long its sequences may be, for whoever asks for longer ones."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

NAMES = re.compile(r"position|ctx|seq(?:uence)?_len|max_length")
"""Parts of the names of such keys: max_position_embeddings, n_positions, n_ctx, max_source_positions, max_seq_len."""
OTHERS = re.compile(r"original|^_")
"""The length before it was stretched (of YaRN) is another one."""


def keys_of_length(hf_config: Mapping[str, Any], length: int) -> tuple[str, ...]:
    """The keys of a raw config, with their path, that set the longest sequence to `length`; none where it is a default
    of the class, or follows from other keys."""
    return tuple(_keys(hf_config, length, ""))


def _keys(section: Mapping[str, Any], length: int, path: str) -> Iterator[str]:
    for key, value in section.items():
        if isinstance(value, Mapping):
            yield from _keys(value, length, f"{path}{key}.")
        elif type(value) is int and value == length and NAMES.search(key) and not OTHERS.search(key):
            yield f"{path}{key}"
