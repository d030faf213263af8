"""The language model inside a model of several senses: a nested config of a model_type of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from costmodel.spec import Head, LayerRun
from costmodel.spec.shown import shown
from planner.models.config import Config
from planner.models.errors import UnknownArchitectureError
from planner.models.families.checks import Activation
from planner.models.families.parts import UNTIED
from planner.models.family import Family
from planner.models.keys import MAX_WIDTH, Computed, Source, value_of
from planner.models.unread import refuse_unread

ONE_IMAGE = "Each sequence is taken to hold one image."
ONE_IMAGE_BOTH_WAYS = f"{ONE_IMAGE[:-1]}, whose tokens see each other both ways; attention is counted as causal."
ONE_WINDOW = "Each sequence is taken to hold one window of sound."
"""What models of several senses assume about their input."""


def by_model_type(*families: Family) -> dict[str, Family]:
    """The first family of each model_type."""
    table: dict[str, Family] = {}
    for family in families:
        table.setdefault(family.model_type, family)
    return table


@dataclass(frozen=True)
class Language:
    """The blocks that text_config describes, from embedding to head, as the family of its model_type reads them.

    The head belongs to the outer class and has no bias. Whether its table is tied is `tied`, read on the outer config;
    with `or_nested` also where text_config says so.
    """

    families: Mapping[str, Family]
    default: str
    """The model_type where text_config has none."""
    tied: Source | bool = UNTIED
    or_nested: bool = False
    may_be_flat: bool = False
    """Whether the keys may stand beside the vision_config, in no object of their own."""

    def runs(self, config: Config) -> Iterator[LayerRun]:
        """The layers; raises BadInputError for a model_type that is not known, and where its checks fail."""
        family, text = self._find(config)
        runs = [run for source in family.layers for run in source.runs(text)]
        head = runs.pop()
        assert isinstance(head.layer, Head)  # as the last layer of every family in the tables
        tied = bool(value_of(self.tied, config)) or (self.or_nested and head.layer.tied)
        for check in family.checks:
            check(text)
        refuse_unread(text, family)
        if family.note:
            config.assume(family.note)
        yield from runs
        yield head.model_copy(update={"layer": head.layer.model_copy(update={"tied": tied, "bias": False})})

    @property
    def longest(self) -> Source:
        """Longest sequence."""

        def read(config: Config, layer: int) -> int | None:
            family, text = self._find(config)
            longest: int | None = family.max_seq_len.read(text, layer)
            return longest

        return Computed(read)

    def hidden(self, config: Config) -> int:
        """Width of the language model, as its own family reads it."""
        family, text = self._find(config)
        return next(family.layers[0].runs(text)).layer.hidden

    def place_of_hidden(self, config: Config) -> str:
        """The key of that width, for messages."""
        return self._find(config)[1].place("hidden_size")

    @property
    def width(self) -> Source:
        """The same, as a source of sizes around it."""
        return Computed(lambda config, _: self.hidden(config))

    def _find(self, config: Config) -> tuple[Family, Config]:
        if self.may_be_flat and not config.has("text_config"):
            return self.families[self.default], config
        text = config.section("text_config")
        name = text.data.get("model_type", self.default)
        if not isinstance(name, str) or name not in self.families:
            raise UnknownArchitectureError(
                f"{config.where}: {text.place('model_type')} is {shown(name)}, but must be one of "
                f"{', '.join(self.families)}"
            )
        return self.families[name], text


def equals_text_width(language: Language, key: str, default: int, section: str | None = "vision_config") -> Computed:
    """The size under `key` of a tower, which must be the width of the language model that it feeds.

    `section` is the object that holds the key, None for the outer one.

    `default` is the class's own, which may differ from that width and is then refused too.
    """

    def read(config: Config, _: int) -> int:
        tower = config if section is None else config.section(section)
        expected = language.hidden(config)
        given = tower.integer(key, 1, MAX_WIDTH) if key in tower.data else default
        if given != expected:
            state = str(given) if key in tower.data else f"missing, which means {given}"
            config.fail(
                f"{tower.place(key)} is {state}, but the language model that the tower feeds has width {expected} "
                f"({language.place_of_hidden(config)}); they must be equal"
            )
        return given

    return Computed(read)


PROJECTS = Activation("projector_hidden_act", "gelu")
"""The check of the activation between the matrices of a connector."""
