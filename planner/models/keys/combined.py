"""Sources made of other sources, or of a function, for what a key alone does not say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from costmodel.spec.shown import shown
from planner.models.config import Config
from planner.models.keys.source import Source, value_of


@dataclass(frozen=True)
class Computed:
    """A value that a function of the config and the block yields, for what a key alone does not say."""

    function: Callable[[Config, int], Any]

    def read(self, config: Config, layer: int) -> Any:
        """What the function yields."""
        return self.function(config, layer)


@dataclass(frozen=True)
class Times:
    """`factor` times another value."""

    factor: int
    source: Source

    def read(self, config: Config, layer: int) -> int:
        """The product."""
        return int(self.factor * self.source.read(config, layer))


@dataclass(frozen=True)
class Sum:
    """The sum of some values."""

    terms: tuple[Any, ...]

    def read(self, config: Config, layer: int) -> int:
        """The sum."""
        return int(sum(value_of(term, config, layer) for term in self.terms))


@dataclass(frozen=True)
class Choose:
    """The case that another value picks, for each block anew."""

    by: Source
    cases: Mapping[Any, Any]

    def read(self, config: Config, layer: int) -> Any:
        """The value of the case; raises BadInputError for one that is not there."""
        picked = self.by.read(config, layer)
        if picked not in self.cases:
            config.fail(
                f"block {layer} is of kind {shown(picked)}, but only {', '.join(map(str, self.cases))} are known"
            )
        return value_of(self.cases[picked], config, layer)
