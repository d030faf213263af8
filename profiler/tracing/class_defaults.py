"""What a config class fills in where a config is silent: refused for the sizes that make a model, named for the others.

A class of transformers has a default for everything, down to the number of its layers. Those defaults are the sizes of
some model, but hardly of the one that a config with missing keys was meant for. An object inside a config is another
matter: transformers saves of it only what differs from the defaults of its class.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import Any

from torch import nn

from costmodel.errors import BadInputError
from profiler.tracing.experts import is_routed
from profiler.tracing.failures import CODE_ERRORS

_SIDE = r"(?:(?:num|sparse|encoder|decoder|text|speech|t2u|cross|swa)_)*"
SIZES = re.compile(
    rf"{_SIDE}(?:n_)?(?:hidden_)?(?:layers?|blocks)|[lrx]_layers|depths?"
    rf"|{_SIDE}(?:hidden|embedding|emb)_(?:size|dim)s?|d_model|n_embd|dim|embed_dims?"
    rf"|{_SIDE}(?:n_)?(?:attention_|key_value_|kv_)?heads?"
    rf"|(?:src_|tgt_)?{_SIDE}vocab_size"
    rf"|{_SIDE}(?:moe_|dense_|shared_)?(?:intermediate|inner)_size|{_SIDE}(?:ffn|feedforward)_dim|d_ff|dff|d_inner"
    rf"|n_inner|mlp_dim|{_SIDE}dim_(?:feedforward|ff)|(?:expert_)?ffn_hidden_size|feed_forward_size"
)
"""Names that classes give their layers, widths, heads, vocabulary and feed-forward networks."""
EXPERT_COUNTS = re.compile(
    r"(?:moe_)?num_(?:local_)?experts(?:_per_tok(?:en)?)?|n_routed_experts|moe_k|moe_top_?k|num_selected_experts"
)
"""Names of how many experts there are, and how many of them a token meets."""
NO_SIZE = re.compile(r"_(?:id|index|seed|factor)$|^(?:seed|pretraining_tp|chunk_size_feed_forward)$")
MAX_NAMED = 12
"""Defaults that one sentence lists."""


@dataclasses.dataclass(frozen=True)
class Default:
    """A whole number, or a list of them, that a config class filled in."""

    place: str
    """Its key in the class's own spelling, with the path to it."""
    key: str
    value: int | list[int] | tuple[int, ...]
    left_out: bool
    """Whether it is of an object inside the config that is there, and so saved without it."""


def refuse_filled_sizes(settings: Any, config: dict[str, Any], where: str) -> None:
    """Raise BadInputError that names the sizes which `settings`, made from `config`, have from their class alone."""
    _refuse([default for default in _filled(settings, config) if SIZES.fullmatch(default.key)], settings, config, where)


def refuse_filled_experts(model: nn.Module, settings: Any, config: dict[str, Any], where: str) -> None:
    """The same for numbers of experts, where `model` has any; classes that can do without have such keys too."""
    if any(is_routed(name) for name, _ in model.named_parameters()):
        counts = [default for default in _filled(settings, config) if EXPERT_COUNTS.fullmatch(default.key)]
        _refuse(counts, settings, config, where)


def filled_in_words(settings: Any, config: dict[str, Any]) -> str:
    """A sentence on the other numbers that come from the class; empty where there are none."""
    found = [default for default in _filled(settings, config) if default.left_out or not _makes_a_model(default)]
    others = sorted(
        (default for default in found if default.value not in (0, 1) and not NO_SIZE.search(default.key)),
        key=lambda default: not _makes_a_model(default),
    )
    if not others:
        return ""
    named = ", ".join(f"{default.place} = {default.value}" for default in others[:MAX_NAMED])
    more = f" and {len(others) - MAX_NAMED} more" if len(others) > MAX_NAMED else ""
    return f"Taken from the class, as the config lacks them: {named}{more}."


def _makes_a_model(default: Default) -> bool:
    return any(pattern.fullmatch(default.key) for pattern in (SIZES, EXPERT_COUNTS))


def _refuse(filled: list[Default], settings: Any, config: dict[str, Any], where: str) -> None:
    missing = [default for default in filled if not default.left_out]
    if missing:
        translated = _translated(settings, config)
        missing = [default for default in missing if default.place not in translated]
    if missing:
        names = ", ".join(default.place for default in missing)
        verb, them = ("is", "it") if len(missing) == 1 else ("are", "them")
        raise BadInputError(
            f"{where}: {names} {verb} missing; sizes of the model are never taken from the defaults of "
            f"{type(settings).__name__}; give {them}"
        )


def _translated(settings: Any, config: dict[str, Any]) -> set[str]:
    """Fields that the class makes of keys it calls otherwise: they follow when such a key is doubled (LFM2)."""
    kind = type(settings)
    names = {field.name for field in dataclasses.fields(settings)} | set(settings.attribute_map or {})
    found: set[str] = set()
    for key, value in config.items():
        if key in names or type(value) is not int or value < 1:
            continue
        try:
            doubled = kind.from_dict({**config, key: 2 * value})
        except CODE_ERRORS:
            continue
        found |= {name for name, new in vars(doubled).items() if name != key and vars(settings).get(name) != new}
    return found


def _filled(settings: Any, config: dict[str, Any], path: str = "", *, left_out: bool = False) -> Iterator[Default]:
    """Numbers of `settings` that equal the default of their class and stand under no name in `config`."""
    spellings: dict[str, list[str]] = {}
    for alias, key in (settings.attribute_map or {}).items():
        spellings.setdefault(key, []).append(alias)
    for field in dataclasses.fields(settings):
        value = _default(field)
        given = any(name in config for name in (field.name, *spellings.get(field.name, ())))
        # Read past the class, which may refuse to tell a size that some of its layers have of their own.
        if not given and _is_count(value) and vars(settings).get(field.name) == value:
            yield Default(f"{path}{field.name}", field.name, value, left_out)
    for key, part in vars(settings).items():
        if dataclasses.is_dataclass(part) and hasattr(part, "attribute_map"):
            nested = config.get(key)
            inside = nested if isinstance(nested, dict) else {}
            yield from _filled(part, inside, f"{path}{key}.", left_out=left_out or nested is inside)


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def _is_count(value: object) -> bool:
    if isinstance(value, list | tuple):
        return bool(value) and all(type(item) is int for item in value)
    return type(value) is int
