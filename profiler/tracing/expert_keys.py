"""Keys of experts in a config whose class builds none: refused, for a mixture of experts is never sized as a dense
model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from torch import nn

from costmodel.errors import BadInputError
from costmodel.spec.shown import shown
from profiler.tracing.experts import is_routed

EXPERT_KEYS = re.compile(r"expert|(?:^|_)moe(?:_|$)", re.IGNORECASE)
"""Keys that say mixture of experts, whatever the class is called."""
EXPERT_CLASSES = re.compile(r"(?:Experts?|MoE|Moe)(?:Block|Layer|MLP|Mlp)?$")
"""Names of modules that are one, where no parameter says so."""


def refuse_dense(model: nn.Module, settings: Any, config: dict[str, Any], where: str) -> None:
    """Raise BadInputError where `config` gives experts, but `model`, made from it as `settings`, has none.

    A class that can do both has numbers of experts in each config that it saves. They count where they are not its
    defaults, unless a switch (`is_moe`) is off or every block is said to be dense.
    """
    if any(is_routed(name) for name, _ in model.named_parameters()):
        return
    if any(EXPERT_CLASSES.search(type(part).__name__) for part in model.modules()):
        return
    given = list(_expert_keys(config))
    if any(value is False for _, _, value in given) or _is_dense_throughout(settings):
        return
    defaults = _defaults(settings)
    for place, key, value in given:
        if key not in defaults or defaults[key] != value:
            raise BadInputError(
                f"{where}: {place} is {shown(value)}, so this is a mixture of experts, but {type(model).__name__} is "
                "built dense from it; name the class that it is for"
            )


def _is_dense_throughout(settings: Any) -> bool:
    """Whether as many blocks are dense by the config's own words (`first_k_dense_replace`) as there are."""
    counts = [value for key, value in vars(settings).items() if "dense" in key and type(value) is int]
    return max(counts, default=0) >= getattr(settings, "num_hidden_layers", 1)


def _expert_keys(config: dict[str, Any], path: str = "") -> Iterator[tuple[str, str, object]]:
    """Path, key and value of every one that says something, at any depth."""
    for key, value in config.items():
        if EXPERT_KEYS.search(key) and (value is False or value not in (None, 0, 1, "", [], {})):
            yield f"{path}{key}", key, value
        elif isinstance(value, dict):
            yield from _expert_keys(value, f"{path}{key}.")


def _defaults(settings: Any) -> dict[str, object]:
    """What the class of a config, and those of the configs inside it, have by default for keys of experts."""
    found: dict[str, object] = {}
    for part in (*(value for value in vars(settings).values() if hasattr(value, "attribute_map")), settings):
        found |= {key: value for key, value in vars(type(part)).items() if EXPERT_KEYS.search(key)}
    return found
