"""The classes that transformers has beside a language model: its blocks without a head, or with another one.

Their layers follow from the language model's own family, so no file of families lists them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from costmodel.spec import Dense, FinalNorm, Head, LayerRun, Part
from planner.models.config import Config
from planner.models.families.encoder_parts import labels
from planner.models.families.variant_names import ANSWERS, BEGINNINGS, HEADLESS, SEQUENCES, TOKENS
from planner.models.family import Family, One, RunSource
from planner.models.keys import KindSource, value_of

ENDS = ("ForCausalLM", "WithLMHeadModel", "LMHeadModel")
"""How the classes of language models are called."""
SEVERAL_SENSES = "ForConditionalGeneration"
TEXT = "_text"
"""How the model_type of a language model ends whose name its model of several senses has; its variants then carry
`Text` in their names, e.g. Gemma3TextModel."""


@dataclass(frozen=True)
class Headless:
    """The layers of a language model up to what the projection onto the vocabulary reads."""

    layers: tuple[RunSource, ...]
    mtp: tuple[RunSource, ...] = ()
    """Layers of multi-token prediction, which need the head that is not there."""

    def runs(self, config: Config) -> Iterator[LayerRun]:
        """All layers, with the norm, and the narrowing of OPT-350m, in place of the head."""
        *body, last = (run for source in self.layers for run in source.runs(config))
        # Families of which there are variants end in a head.
        head = cast(Head, last.layer)
        if any(run.count for source in self.mtp for run in source.runs(config)):
            config.assume(
                f"{config.architecture} has no head, so the layers of multi-token prediction, which end in one, are "
                "left out."
            )
        yield from body
        if head.table_width is not None:
            narrowing = Dense(hidden=head.hidden, out=head.table_width, norm=head.norm)
            yield LayerRun(part=Part.HEAD, layer=narrowing)
        elif head.norm is not None:
            yield LayerRun(part=Part.HEAD, layer=FinalNorm(hidden=head.hidden, norm=head.norm))


@dataclass(frozen=True)
class Scored:
    """The layers of a language model with `outputs` scores of every token in place of its vocabulary."""

    body: Headless
    outputs: object
    bias: bool

    def runs(self, config: Config) -> Iterator[LayerRun]:
        """All layers; the last is a matrix that takes in the norm before it, as a head does."""
        runs = list(self.body.runs(config))
        norm, last = None, runs[-1].layer
        if isinstance(last, FinalNorm):
            norm = last.norm
            runs.pop()
        hidden = last.out if isinstance(last, Dense) else last.hidden
        scores = Dense(hidden=hidden, out=value_of(self.outputs, config), bias=self.bias, norm=norm)
        yield from runs
        yield LayerRun(part=Part.HEAD, layer=scores)


def variants(family: Family) -> Iterator[Family]:
    """The families of the other classes that transformers has of a language model; none of any other family.

    Rewards and classes are scores without bias, those of tokens have one, and an answer has two ends.
    """
    base = base_name(family)
    if base is None:
        return
    body = Headless(family.layers, family.mtp)
    for end, layers in (
        (HEADLESS, body),
        (SEQUENCES, Scored(body, labels(), bias=False)),
        (TOKENS, Scored(body, labels(), bias=True)),
        (ANSWERS, Scored(body, 2, bias=True)),
    ):
        if base not in BEGINNINGS[end]:
            continue
        yield Family(
            f"{base}{end}",
            family.model_type,
            (layers,),
            max_seq_len=family.max_seq_len,
            checks=family.checks,
            note=family.note,
        )


def base_name(family: Family) -> str | None:
    """What the names of the variants begin with; None where there are none."""
    last = family.layers[-1]
    # Encoder-decoders, whose variants are listed with them, end with one layer, and others with all that text_config
    # says.
    if family.architecture.endswith(SEVERAL_SENSES) and not isinstance(last, One):
        return family.architecture.removesuffix(SEVERAL_SENSES)
    for end in ENDS:
        if family.architecture.endswith(end) and _is_head(last):
            return family.architecture.removesuffix(end) + ("Text" if family.model_type.endswith(TEXT) else "")
    return None


def _is_head(source: RunSource) -> bool:
    return isinstance(source, One) and isinstance(source.layer, KindSource) and source.layer.kind is Head
