"""Sources below the top of a config: an entry of a list with one per block, a value of a nested object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from costmodel.spec.shown import shown
from planner.models.config import Config
from planner.models.keys.size import Size
from planner.models.keys.source import REQUIRED, value_of


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
