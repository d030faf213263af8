"""The source of a layer kind: one source for each of its fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from costmodel.spec import Kind
from planner.models.config import Config
from planner.models.keys.messages import contradiction
from planner.models.keys.source import value_of


@dataclass(frozen=True)
class KindSource:
    """A layer kind, or a part of one, with the source of each of its fields."""

    kind: type[Kind]
    fields: Mapping[str, Any] = field(default_factory=dict)

    def read(self, config: Config, layer: int) -> Kind:
        """The kind with the values of its fields; raises BadInputError where they contradict each other."""
        values = {name: value_of(source, config, layer) for name, source in self.fields.items()}
        try:
            return self.kind(**values)
        except ValueError as error:
            config.fail(contradiction(error, self.fields, config))

    def but(self, **changes: Any) -> KindSource:
        """The same with other sources for some fields."""
        return KindSource(self.kind, {**self.fields, **changes})


def part(kind: type[Kind], **fields: Any) -> KindSource:
    """The source of a `kind`; fields that are not named take the kind's own default."""
    return KindSource(kind, fields)
