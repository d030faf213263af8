"""ModelSpec: a model as a sequence of layers with their shapes."""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from typing import ClassVar, Self

from pydantic import Field, model_validator

from costmodel.spec.base import Document, Spec
from costmodel.spec.layers import Attention, Block, Embedding, Head, Layer, Traced
from costmodel.spec.operations import Split, SplitRule

MAX_LAYERS = 10_000
"""Far above any model; a plan lists a mode for every layer."""


class Part(StrEnum):
    """What a layer belongs to."""

    EMBEDDING = "embedding"
    BLOCKS = "blocks"
    """The main stack: of a language model its decoder blocks, of an encoder its own."""
    HEAD = "head"
    ENCODER = "encoder"
    """The stack whose output the main one attends to."""
    VISION = "vision"
    AUDIO = "audio"
    CONNECTOR = "connector"
    """Between the tower of another sense and the main stack."""


class LayerRun(Spec):
    """`count` equal layers in a row."""

    layer: Layer
    count: int = Field(default=1, ge=1, le=MAX_LAYERS)
    part: Part
    num_tokens: int | None = Field(default=None, gt=0)
    """Tokens per sequence that the layers work on, where that is not the sequence length of the job: patches of an
    image, frames of a recording."""


def _reads_elsewhere(layer: Layer) -> bool:
    """Whether a block reads more than the hidden state: an input of its own, or keys and values of an earlier one."""
    if not isinstance(layer, Block):
        return False
    shares_keys = any(isinstance(part, Attention) and part.reuses_kv for part in layer.parts)
    return shares_keys or layer.layer_input > 0 or layer.cross_attention is not None


class ModelSpec(Document):
    """A model: its layers in the order they are computed, numbered over the whole sequence from 0.

    Of a plain language model 0 is the embedding, the last one is the head, and blocks stand between.
    """

    SCHEMA: ClassVar[str] = "model/2"

    name: str = Field(min_length=1)
    architecture: str = Field(min_length=1)
    """The Hugging Face class, e.g. `LlamaForCausalLM`."""
    runs: tuple[LayerRun, ...] = Field(min_length=1)
    mtp_runs: tuple[LayerRun, ...] = ()
    """Layers of multi-token prediction that the config describes, apart: they are not among `layers`."""
    max_seq_len: int | None = Field(default=None, gt=0)
    assumptions: tuple[str, ...] = ()
    """What the reader filled in, each a sentence."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        num_layers = sum(run.count for run in self.runs)
        if num_layers > MAX_LAYERS:
            raise ValueError(f"a model may have at most {MAX_LAYERS} layers; this one has {num_layers}")
        if not self.blocks:
            raise ValueError("a model needs blocks")
        if not any(run.layer.num_params() for run in self.runs):
            raise ValueError("a model needs parameters: nothing here could be trained")
        known = (run.layer for run in self.runs if run.part in (Part.EMBEDDING, Part.BLOCKS, Part.HEAD))
        widths = {layer.hidden for layer in known if isinstance(layer, Embedding | Block | Head)}
        if len(widths) > 1:
            raise ValueError(f"embedding, blocks and head must have one hidden size; they have {sorted(widths)}")
        if self.head is not None and self.head.tied and self.embedding is None:
            raise ValueError("the head's table is tied, but there is no embedding to tie it to")
        if self.embedding is not None and self.head is not None and self.head.tied:
            shapes = [(table.vocab, table.table_width or table.hidden) for table in (self.embedding, self.head)]
            if shapes[0] != shapes[1]:
                raise ValueError(f"the embedding's table is {shapes[0]}, but that of the head, tied to it, {shapes[1]}")
        return self

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """Every layer in order."""
        return tuple(run.layer for run in self.runs for _ in range(run.count))

    @cached_property
    def distinct(self) -> tuple[LayerRun, ...]:
        """The first run of each layer and sequence length that differ; most models repeat few."""
        found: dict[tuple[Layer, int | None], LayerRun] = {}
        for run in self.runs:
            found.setdefault((run.layer, run.num_tokens), run)
        return tuple(found.values())

    @cached_property
    def distinct_index(self) -> tuple[int, ...]:
        """For every layer in order, its place in `distinct`."""
        places = {(run.layer, run.num_tokens): place for place, run in enumerate(self.distinct)}
        return tuple(places[run.layer, run.num_tokens] for run in self.runs for _ in range(run.count))

    @cached_property
    def splits(self) -> dict[SplitRule, tuple[Split, ...]]:
        """The distinct sizes that tensor parallelism splits, by the rule that asks for them to be divided."""
        found = dict.fromkeys(split for run in self.distinct for split in run.layer.splits())
        return {rule: tuple(split for split in found if split.rule is rule) for rule in SplitRule}

    @cached_property
    def embedding(self) -> Embedding | None:
        """The table of the tokens that enter the main stack."""
        found = (run.layer for run in self.runs if run.part is Part.EMBEDDING)
        return next((layer for layer in found if isinstance(layer, Embedding)), None)

    @cached_property
    def head(self) -> Head | None:
        """The projection onto the vocabulary at the end."""
        layer = self.runs[-1].layer
        return layer if isinstance(layer, Head) else None

    @cached_property
    def blocks(self) -> tuple[Block | Traced, ...]:
        """The layers of the main stack."""
        stack = (run for run in self.runs if run.part is Part.BLOCKS)
        return tuple(run.layer for run in stack for _ in range(run.count) if isinstance(run.layer, Block | Traced))

    @cached_property
    def is_single_stream(self) -> bool:
        """Whether one hidden state of one width and length runs through blocks between an embedding and a head, so
        that the model can be cut anywhere."""
        kinds = [run.part for run in self.runs]
        middle = kinds[1:-1]
        return (
            kinds[0] is Part.EMBEDDING
            and kinds[-1] is Part.HEAD
            and all(part is Part.BLOCKS for part in middle)
            and len({run.layer.hidden for run in self.runs}) == 1
            and all(run.num_tokens is None for run in self.runs)
            and self.runs[0].count == self.runs[-1].count == 1
            and not any(_reads_elsewhere(run.layer) for run in self.runs)
        )

    @cached_property
    def fixed_seq_len(self) -> int | None:
        """Tokens per sequence of the main stack where the model itself says how many, as a vision transformer does by
        its image; None where the job says it."""
        return next(run.num_tokens for run in self.runs if run.part is Part.BLOCKS)

    @cached_property
    def sense_tokens(self) -> int:
        """Tokens that image and sound take of each sequence of the main stack: what leaves the last connector of each.

        0 where there are none, and where the main stack reads them beside its sequence, by cross-attention.
        """
        stack = [run.layer for run in self.runs if run.part is Part.BLOCKS]
        if any(isinstance(layer, Block) and layer.cross_attention is not None for layer in stack):
            return 0
        ends = zip(self.runs, self.runs[1:], strict=False)
        return sum(
            run.num_tokens or 0
            for run, following in ends
            if run.part is Part.CONNECTOR and following.part is not Part.CONNECTOR
        )

    @property
    def num_layers(self) -> int:
        """Number of blocks of the main stack (what a config calls num_hidden_layers)."""
        return len(self.blocks)

    @property
    def num_inner_layers(self) -> int:
        """Number of layers between the first and the last, which a plan may recompute; in a plain language model its
        blocks."""
        return max(0, len(self.layers) - 2)

    @property
    def hidden(self) -> int:
        """Width of the residual stream of the main stack."""
        return self.blocks[0].hidden

    @property
    def vocab(self) -> int | None:
        """Number of tokens in the vocabulary; None where the model reads no tokens."""
        return None if self.embedding is None else self.embedding.vocab

    @property
    def tied(self) -> bool:
        """Whether head and embedding share one table."""
        return self.head is not None and self.head.tied

    @cached_property
    def params_by_part(self) -> dict[str, int]:
        """Parameters of each part there is; a tied table is counted once, with the embedding."""
        parts: dict[str, int] = {}
        for run in self.runs:
            parts[run.part.value] = parts.get(run.part.value, 0) + run.count * run.layer.num_params()
        return parts

    @property
    def params_total(self) -> int:
        """All parameters, tied weights once, layers of multi-token prediction apart."""
        return sum(self.params_by_part.values())

    @cached_property
    def params_active(self) -> int:
        """Parameters that one token meets: all but those of the experts it is not routed to."""
        return sum(run.count * run.layer.num_active_params() for run in self.runs)

    @cached_property
    def params_mtp(self) -> int:
        """Parameters of the layers of multi-token prediction."""
        return sum(run.count * run.layer.num_params() for run in self.mtp_runs)
