"""What a model family is: the class it stands for, and its layers in order, each with where its sizes come from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from costmodel.spec import LayerRun, Part
from planner.models.config import Config
from planner.models.keys import Size, Source, tokens, value_of

POSITIONS = tokens("max_position_embeddings", default=None)


class RunSource(Protocol):
    """Some of a model's layers, as a family describes them."""

    def runs(self, config: Config) -> Iterator[LayerRun]:
        """The layers that the config asks for; raises BadInputError naming the key at fault."""
        ...


@dataclass(frozen=True)
class One:
    """A single layer; with `when`, only where that holds."""

    part: Part
    layer: Source
    num_tokens: Any = None
    when: Any = True

    def runs(self, config: Config) -> Iterator[LayerRun]:
        """The layer, if it is there."""
        if value_of(self.when, config):
            tokens = value_of(self.num_tokens, config)
            yield LayerRun(part=self.part, layer=self.layer.read(config, 0), num_tokens=tokens)


@dataclass(frozen=True)
class Stack:
    """Blocks, as many as `count` says, which may differ from one to the next."""

    block: Source
    count: Size
    part: Part = Part.BLOCKS
    num_tokens: Any = None

    def runs(self, config: Config) -> Iterator[LayerRun]:
        """Equal blocks in a row as one run."""
        num_tokens = value_of(self.num_tokens, config)
        block, length = self.block.read(config, 0), 0
        for layer in range(self.count.read(config, 0)):
            this = self.block.read(config, layer)
            if this != block:
                yield LayerRun(part=self.part, layer=block, count=length, num_tokens=num_tokens)
                block, length = this, 0
            length += 1
        yield LayerRun(part=self.part, layer=block, count=length, num_tokens=num_tokens)


@dataclass(frozen=True)
class Within:
    """Layers whose keys stand in a nested object."""

    section: str
    parts: tuple[RunSource, ...]

    def runs(self, config: Config) -> Iterator[LayerRun]:
        """The layers, read there."""
        nested = config.section(self.section)
        for source in self.parts:
            yield from source.runs(nested)


@dataclass(frozen=True)
class Family:
    """One Hugging Face class, as data. Defaults are those of its own config class in the pinned transformers."""

    architecture: str
    model_type: str
    layers: tuple[RunSource, ...]
    max_seq_len: Source = POSITIONS
    """Longest sequence; None where nothing limits it."""
    mtp: tuple[RunSource, ...] = ()
    """Layers of multi-token prediction, which the class itself does not build."""
    checks: tuple[Callable[[Config], None], ...] = ()
    """Further conditions; each raises BadInputError naming the key at fault."""
    note: str = ""
    """What anyone who reads the numbers must know about how the class is read."""
