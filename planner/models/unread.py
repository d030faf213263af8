"""Keys that a class does not read, and that say its model is another one: refused, rather than passed over.

A mixture of experts is never read as a dense model, nor a part of a model as the whole of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from costmodel.spec import Moe
from planner.models.config import Config, shown, shown_key
from planner.models.family import Family
from planner.models.keys import KindSource

EXPERTS = re.compile(r"expert|(?:^|_)moe(?:_|$)", re.IGNORECASE)
"""Keys that say mixture of experts, whatever the class is called."""
NESTED = re.compile(r"(?:text|vision|audio|llm|language|encoder|decoder|ffn|attn|thinker|talker)_config")
"""Keys of objects that hold part of a model."""
OTHER_BLOCKS = ("per_layer_config", "block_configs", "pruned_heads")
"""Keys that give blocks sizes of their own."""
PER_BLOCK = ("layer_types", "mlp_layer_types")
"""Lists that transformers asks to have one entry per block, whatever the class."""


def refuse_unread(config: Config, family: Family) -> None:
    """Raise BadInputError for a key of `config` that `family` has not read, but that makes the model another one."""
    knows_experts = _mentions_experts(family.layers)
    for key, value in config.data.items():
        if config.was_read(key) or value in (None, 0, 1, "", [], {}):
            continue
        place = config.place(shown_key(key))
        if EXPERTS.search(key) and not knows_experts:
            config.fail(
                f"{place} is {shown(value)}, so this is a mixture of experts, but {family.architecture} is dense; name "
                "the class that it is for"
            )
        if NESTED.fullmatch(key) and isinstance(value, dict):
            config.fail(
                f"{place} holds part of a model, but {family.architecture} does not read it; name the class that it is "
                "for"
            )
        if key in OTHER_BLOCKS:
            config.fail(
                f"{place} gives blocks sizes of their own, but {family.architecture} is read with equal ones; remove "
                "the key, or name the class that reads it"
            )
    for key in PER_BLOCK:
        count, entries = config.data.get("num_hidden_layers"), config.data.get(key)
        if isinstance(entries, list) and type(count) is int and len(entries) != count:
            config.fail(
                f"{config.place(key)} has {len(entries)} entries, but {config.place('num_hidden_layers')} is {count}; "
                "they must be as many"
            )


def _mentions_experts(source: Any) -> bool:
    """Whether the data of a family holds a mixture of experts, in any of its cases."""
    if isinstance(source, KindSource):
        return issubclass(source.kind, Moe) or _mentions_experts(source.fields)
    if isinstance(source, Mapping):
        return any(_mentions_experts(value) for value in source.values())
    if isinstance(source, Iterable) and not isinstance(source, str):
        return any(_mentions_experts(item) for item in source)
    if is_dataclass(source) and not isinstance(source, type):
        return any(_mentions_experts(getattr(source, field.name)) for field in fields(source))
    return False
