"""What a source is: whatever yields a value for a block, read from the config when it is asked for."""

from __future__ import annotations

from typing import Any, Protocol

from planner.models.config import Config


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
