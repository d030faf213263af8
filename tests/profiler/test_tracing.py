"""Tracing: what is counted of a forward pass on tensors without values, against counts by hand."""

from __future__ import annotations

import pytest
import torch
from own_layers import HIDDEN, VOCAB, DecoderBlock, blocks, trace, traced
from torch import Tensor, nn
from torch.nn import functional

from costmodel.spec import Embedding, Head, Part
from profiler.tracing.fit import FAR, LOOPED, coefficients, lengths_within, misfit
from profiler.tracing.stacks import signature, stacks


class LoopOverTokens(nn.Module):
    """A recurrence written as a loop: one multiplication for each token."""

    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.Linear(HIDDEN, HIDDEN, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        state, states = torch.zeros_like(x[:, 0]), []
        for token in range(x.shape[1]):
            state = self.mix(state + x[:, token])
            states.append(state)
        return torch.stack(states, dim=1)


class Routed(nn.Module):
    """Experts whose router nobody can see through: a parameter with three dimensions, met by all tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.experts = nn.Parameter(torch.empty(3, HIDDEN, HIDDEN))

    def forward(self, x: Tensor) -> Tensor:
        return torch.stack([x @ matrix for matrix in self.experts]).sum(0)


def test_a_block_by_hand() -> None:
    model = trace(blocks(DecoderBlock(), DecoderBlock()))
    block = traced(model)
    assert [(run.part, run.count) for run in model.runs] == [(Part.EMBEDDING, 1), (Part.BLOCKS, 2), (Part.HEAD, 1)]
    # Two LayerNorms 2 x 2 x 32; q, k, v, o 4 x 32 x 32; gate, up, down 3 x 32 x 48.
    assert block.params == 128 + 4096 + 4608
    # Two FLOP for each weight of a matrix.
    assert block.flop_per_token == 2 * (4096 + 4608)
    # Queries with keys and weights with values, 4 x 32 for each pair; a causal mask leaves half of the pairs.
    assert block.flop_per_token_squared == 4 * 32 / 2
    # In the order of the pass: input of the norm 32 with mean and rstd 2, input of q, k, v 32, their output 96 (one
    # storage, which attention keeps), output of attention 32, which the projection reads as it is, a sum per head 4;
    # input of the norm 32 with mean and rstd 2, its output 32, gate 48, activated 48, up 48, product 48.
    assert block.saved_values_per_token == (34 + 32) + (96 + 36) + (34 + 32) + 4 * 48
    assert block.saved_values_per_token_squared == 0


def test_the_same_whatever_the_length() -> None:
    block = traced(trace(blocks(DecoderBlock())))
    flop = sum(operation.flop for operation in block.operations(2, 1000))
    assert flop == 2 * (1000 * 2 * (4096 + 4608) + 1000**2 * 64)


def test_tables_of_the_vocabulary_are_layers_of_their_own_kind() -> None:
    model = trace(blocks(DecoderBlock()))
    assert model.embedding == Embedding(vocab=VOCAB, hidden=HIDDEN)
    assert model.head == Head(vocab=VOCAB, hidden=HIDDEN, norm=None)
    assert model.is_single_stream


def test_a_norm_before_the_projection_belongs_to_the_head() -> None:
    layers = blocks(DecoderBlock())
    layers[-1] = nn.Sequential(nn.RMSNorm(HIDDEN), nn.Linear(HIDDEN, VOCAB))
    head = trace(layers).head
    assert head is not None
    assert head.num_params() == HIDDEN + HIDDEN * VOCAB + VOCAB


def test_a_shared_weight_counts_once() -> None:
    layers = blocks(DecoderBlock())
    assert isinstance(layers[0], nn.Embedding)
    assert isinstance(layers[-1], nn.Linear)
    layers[-1].weight = layers[0].weight
    model = trace(layers)
    assert model.tied
    assert model.params_by_part == {"embedding": VOCAB * HIDDEN, "blocks": 8832, "head": 0}


def test_the_same_block_twice_has_its_parameters_once_and_its_work_twice() -> None:
    shared = DecoderBlock()
    first, second = trace(blocks(shared, shared)).layers[1:3]
    assert (first.num_params(), second.num_params()) == (8832, 0)
    assert [operation.flop for operation in first.operations(1, 64)] == [
        operation.flop for operation in second.operations(1, 64)
    ]


def test_blocks_that_differ_are_traced_apart() -> None:
    model = trace(blocks(DecoderBlock(), DecoderBlock(ffn=64), DecoderBlock()))
    assert [layer.num_params() for layer in model.layers[1:-1]] == [8832, 8832 + 3 * 32 * 16, 8832]


def test_a_loop_over_tokens_is_traced_at_few_tokens() -> None:
    block = traced(trace(blocks(LoopOverTokens())))
    assert block.flop_per_token == 2 * HIDDEN**2
    assert block.flop_per_token_squared == 0


class Positions(nn.Module):
    """Adds a table of positions, which ends."""

    def __init__(self, length: int) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCAB, HIDDEN), nn.Parameter(torch.zeros(1, length, HIDDEN))

    def forward(self, ids: Tensor) -> Tensor:
        embedded: Tensor = self.tokens(ids) + self.positions[:, : ids.shape[1]]
        return embedded


@pytest.mark.parametrize("length", [600, 1500])
def test_a_table_of_positions_ends_the_lengths(length: int) -> None:
    model = trace([Positions(length), DecoderBlock(), nn.Linear(HIDDEN, VOCAB)])
    assert model.max_seq_len == length
    assert f"Its pass over more than {length:,} tokens fails." in model.assumptions


def test_without_an_end_the_longest_sequence_that_was_tried_is_said() -> None:
    model = trace(blocks(DecoderBlock()))
    assert model.max_seq_len is None
    assert f"Sequences longer than {FAR[0]:,} tokens were not tried." in model.assumptions


def test_experts_that_nobody_can_count_are_all_active_and_said_to_be() -> None:
    model = trace(blocks(Routed()))
    assert model.params_active == model.params_total
    assert "How many experts a token meets is not known" in model.assumptions[1]


def test_layers_may_stand_in_an_attribute_and_bring_their_input() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(7, HIDDEN), DecoderBlock(), nn.Linear(HIDDEN, 5)])

        def example_input(self, batch: int, seq_len: int) -> Tensor:
            return torch.zeros(batch, seq_len, 7)

    model = trace(Model())
    assert model.vocab is None
    assert traced(model, 0).flop_per_token == 2 * 7 * HIDDEN
    assert model.params_total == 7 * HIDDEN + HIDDEN + 8832 + HIDDEN * 5 + 5


def test_blocks_of_70b_width_need_no_memory() -> None:
    with torch.device("meta"):
        table, head = nn.Embedding(128256, 8192), nn.Linear(8192, 128256)
        layers = [table, *(DecoderBlock(8192, 64, 28672) for _ in range(80)), head]
    # 80 x (2 x 2 x 8192 + 4 x 8192^2 + 3 x 8192 x 28672) + (2 x 8192 + 1) x 128256
    assert trace(layers).params_total == 80 * (32768 + 268435456 + 704643072) + 16385 * 128256


def test_a_head_that_returns_its_loss_is_as_wide_as_what_it_reads() -> None:
    class Loss(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.project = nn.Linear(HIDDEN, VOCAB)

        def forward(self, x: Tensor) -> Tensor:
            return functional.cross_entropy(self.project(x).flatten(0, 1), torch.zeros(x.shape[1], dtype=torch.int64))

    model = trace([nn.Linear(7, HIDDEN), DecoderBlock(), Loss()], lambda batch, seq_len: torch.zeros(batch, seq_len, 7))
    assert traced(model, 2).hidden == HIDDEN
    assert model.is_single_stream


def test_a_norm_in_another_format_does_not_halve_what_the_others_keep() -> None:
    layers = [layer.to(torch.bfloat16) for layer in blocks(nn.Linear(HIDDEN, HIDDEN), nn.Identity())]
    plain = traced(trace(layers)).saved_values_per_token
    layers[2] = nn.LayerNorm(HIDDEN)  # float32: 64 numbers beside 7,200 of bfloat16
    assert traced(trace(layers)).saved_values_per_token == plain == HIDDEN


@pytest.mark.parametrize(
    ("short", "long", "expected"),
    [
        (3 * 10 + 2 * 100, 3 * 20 + 2 * 400, (3.0, 2.0)),
        (30, 60, (3.0, 0.0)),
        (200, 800, (0.0, 2.0)),
        (100 + 30, 100 + 60, (8.0, 0.0)),  # a constant part: nothing grows with the square
        (0, 0, (0.0, 0.0)),
    ],
)
def test_a_part_per_token_and_a_part_per_pair(short: float, long: float, expected: tuple[float, float]) -> None:
    assert coefficients(short, long, 10, 20) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("amounts", "lengths", "expected"),
    [
        # 1030 at 10 and 1060 at 20 tell 53 a token, so 530 at 10.
        ([[1030, 1060]], (10, 20), (10, 500 / 1030)),
        ([[30, 60, 3000]], (10, 20, 1000), None),
        # Two layers that miss 3000 by 25 and by 35, then 36, in opposite ways: 1 % of 6010, and more of 6011.
        ([[30, 60, 2975], [30, 60, 3035]], (10, 20, 1000), None),
        ([[30, 60, 2975], [30, 60, 3036]], (10, 20, 1000), (1000, 61 / 6011)),
    ],
)
def test_one_percent_may_be_wrong(
    amounts: list[list[float]], lengths: tuple[int, ...], expected: tuple[int, float] | None
) -> None:
    found = misfit(amounts, lengths)
    assert found == (None if expected is None else pytest.approx(expected))


def test_lengths_stay_within_what_a_model_takes() -> None:
    assert lengths_within(None) == lengths_within(10**6)
    assert lengths_within(100) == (50, 100)
    assert max(LOOPED) < min(lengths_within(None))


def test_stacks_are_the_outermost_lists_with_parameters() -> None:
    model = nn.Module()
    model.layers = nn.ModuleList([nn.ModuleList([nn.Linear(2, 2)])])
    model.nothing = nn.ModuleList([nn.Identity()])
    assert list(stacks(model)) == ["layers"]


def test_place_in_the_stack_makes_no_difference_but_any_other_setting_does() -> None:
    first, second, third = nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2)
    first.layer_idx, second.layer_idx, third.window = 0, 1, 8  # type: ignore[assignment]
    assert signature(first) == signature(second)
    assert signature(first) != signature(third)
