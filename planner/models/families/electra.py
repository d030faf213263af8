"""ELECTRA: BERT's blocks behind an embedding that may be narrower, with a head that finds replaced tokens."""

from __future__ import annotations

from costmodel.spec import Embedding, Head, Norm, Part
from planner.models.config import Config
from planner.models.families.bert import CLASSIFIER, PER_TOKEN, POSITIONS_512, TYPES, is_plain
from planner.models.families.checks import Activation
from planner.models.families.encoder_parts import both_ways, dense, layer_norm_block, pads_within, square, two_matrices
from planner.models.families.parts import HIDDEN, LAYERS, TIED, VOCAB
from planner.models.family import Family, One, RunSource, Stack
from planner.models.keys import Choose, Computed, Flag, part, width

ROW = width("embedding_size", default=128)


def _is_narrow(config: Config, layer: int) -> bool:
    return bool(ROW.read(config, layer) != HIDDEN.read(config, layer))


NARROW = Computed(_is_narrow)
TABLE_WIDTH = Choose(NARROW, {True: ROW, False: None})


def _around_narrow_rows(config: Config, layer: int) -> int:
    """Positions, types and a norm as narrow as a row, and the bias of the projection that widens it."""
    row = ROW.read(config, layer)
    rows = POSITIONS_512.read(config, layer) + TYPES.read(config, layer)
    return int(row * (rows + 2) + HIDDEN.read(config, layer))


def _before_narrow_table(config: Config, layer: int) -> int:
    """The bias of the projection that narrows, and a norm."""
    return int(3 * ROW.read(config, layer))


GELU = Activation("hidden_act", "gelu")
BACKBONE: tuple[RunSource, ...] = (
    One(
        Part.EMBEDDING,
        part(
            Embedding,
            vocab=VOCAB,
            hidden=HIDDEN,
            table_width=TABLE_WIDTH,
            num_positions=Choose(NARROW, {True: 0, False: POSITIONS_512}),
            num_types=Choose(NARROW, {True: 0, False: TYPES}),
            norm=Choose(NARROW, {True: None, False: Norm.LAYER}),
            other_params=Choose(NARROW, {True: Computed(_around_narrow_rows), False: 0}),
        ),
    ),
    Stack(
        layer_norm_block(both_ways(causal=Flag("is_decoder", default=False)), two_matrices(GELU), norms_output=True),
        LAYERS,
    ),
)
GENERATOR = One(
    Part.HEAD,
    part(
        Head,
        vocab=VOCAB,
        hidden=HIDDEN,
        table_width=TABLE_WIDTH,
        tied=TIED,
        bias=True,
        norm=None,
        transforms=Choose(NARROW, {True: False, False: True}),
        other_params=Choose(NARROW, {True: Computed(_before_narrow_table), False: 0}),
    ),
)
SUMMARY = One(Part.HEAD, square().layer, num_tokens=1, when=Flag("summary_use_proj", default=True))


def _electra(name: str, *head: RunSource) -> Family:
    return Family(
        name, "electra", (*BACKBONE, *head), max_seq_len=POSITIONS_512, checks=(is_plain, GELU, pads_within())
    )


FAMILIES: tuple[Family, ...] = (
    _electra("ElectraForPreTraining", dense(HIDDEN, tokens=None), dense(1, tokens=None)),
    _electra("ElectraForMaskedLM", GENERATOR),
    _electra("ElectraForCausalLM", GENERATOR),
    _electra("ElectraModel"),
    _electra("ElectraForSequenceClassification", square(), CLASSIFIER),
    _electra("ElectraForMultipleChoice", SUMMARY, dense(1)),
    _electra("ElectraForTokenClassification", PER_TOKEN),
    _electra("ElectraForQuestionAnswering", PER_TOKEN),
)
