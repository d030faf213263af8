"""A size that is one key divided by another, such as the width of a head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from planner.models.config import Config


class NamedSource(Protocol):
    """A source that is one key, whose name stands in messages."""

    @property
    def name(self) -> str:
        """The key."""
        ...

    def read(self, config: Config, layer: int) -> Any:
        """The value for block `layer`."""
        ...


@dataclass(frozen=True)
class Quotient:
    """One key divided by another, which must go without remainder."""

    dividend: NamedSource
    divisor: NamedSource

    def read(self, config: Config, layer: int) -> int:
        """The quotient; raises BadInputError where there is a remainder."""
        return self.quotient(config, layer, "give sizes that divide")

    def quotient(self, config: Config, layer: int, what_would_do: str) -> int:
        """The quotient; raises BadInputError, which says `what_would_do`, where there is a remainder."""
        dividend, divisor = self.dividend.read(config, layer), self.divisor.read(config, layer)
        if dividend % divisor:
            config.fail(
                f"{config.place(self.divisor.name)} = {divisor} does not divide "
                f"{config.place(self.dividend.name)} = {dividend}; {what_would_do}"
            )
        return int(dividend // divisor)
