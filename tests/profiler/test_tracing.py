"""Tracing: what is counted of a forward pass on tensors without values, against counts by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from costmodel.errors import BadInputError
from costmodel.spec import Embedding, Head, ModelSpec, Part, Traced
from profiler.tracing import trace_factory
from profiler.tracing.factory import Factory
from profiler.tracing.fit import FAR, LOOPED, coefficients, lengths_within, misfit
from profiler.tracing.stacks import signature, stacks

Example = Callable[[int, int], Tensor]
"""Makes the input of the first layer from batch and length."""

HIDDEN, HEADS, FFN, VOCAB = 32, 4, 48, 96


class DecoderBlock(nn.Module):
    """Norm, attention, norm, gated feed-forward network."""

    def __init__(self, hidden: int = HIDDEN, heads: int = HEADS, ffn: int = FFN) -> None:
        super().__init__()
        self.heads = heads
        self.attention_norm, self.mlp_norm = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.qkv, self.output = nn.Linear(hidden, 3 * hidden, bias=False), nn.Linear(hidden, hidden, bias=False)
        self.gate, self.up = nn.Linear(hidden, ffn, bias=False), nn.Linear(hidden, ffn, bias=False)
        self.down = nn.Linear(ffn, hidden, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        batch, seq_len, hidden = x.shape
        projected = self.qkv(self.attention_norm(x)).view(batch, seq_len, 3, self.heads, hidden // self.heads)
        query, key, value = projected.permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.output(attended.transpose(1, 2).reshape(batch, seq_len, hidden))
        y = self.mlp_norm(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


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


def blocks(*layers: nn.Module) -> list[nn.Module]:
    return [nn.Embedding(VOCAB, HIDDEN), *layers, nn.Linear(HIDDEN, VOCAB, bias=False)]


class _Given(Factory):
    """A factory that is already imported."""

    def __init__(self, layers: Sequence[nn.Module] | nn.Module, example: Example | None) -> None:
        self.text, self.source, self._build = "tests:build", None, lambda: layers
        self._example = example

    def layers(self) -> tuple[tuple[nn.Module, ...], Example | None]:
        layers, example = super().layers()
        return layers, self._example or example


def trace(layers: Sequence[nn.Module] | nn.Module, example: Example | None = None) -> ModelSpec:
    return trace_factory(_Given(layers, example))


def traced(model: ModelSpec, index: int = 1) -> Traced:
    layer = model.layers[index]
    assert isinstance(layer, Traced)
    return layer


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


class Latents(nn.Module):
    """Work on 256 latents of its own, however long the sequence is."""

    def __init__(self) -> None:
        super().__init__()
        self.latents, self.mix = nn.Parameter(torch.zeros(256, HIDDEN)), nn.Linear(HIDDEN, HIDDEN)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.mix(self.latents).mean(0)


class Switching(nn.Module):
    """All pairs of a short sequence, and none of a long one, as attention of sparse blocks does it."""

    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.Linear(HIDDEN, HIDDEN)

    def forward(self, x: Tensor) -> Tensor:
        mixed: Tensor = self.mix(x)
        return x @ x.transpose(1, 2) @ mixed if x.shape[1] < 1000 else mixed


class Positions(nn.Module):
    """Adds a table of positions, which ends."""

    def __init__(self, length: int) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCAB, HIDDEN), nn.Parameter(torch.zeros(1, length, HIDDEN))

    def forward(self, ids: Tensor) -> Tensor:
        embedded: Tensor = self.tokens(ids) + self.positions[:, : ids.shape[1]]
        return embedded


@pytest.mark.parametrize(
    ("layer", "said"),
    [(Latents(), r"is wrong by \d+% at 16,384 tokens"), (Switching(), r"is wrong by \d+% at 16,384 tokens")],
)
def test_work_that_two_lengths_do_not_tell_has_no_price(layer: nn.Module, said: str) -> None:
    with pytest.raises(BadInputError, match=f"its FLOP do not grow with the tokens and their pairs: .* {said}"):
        trace(blocks(layer))


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


class Holding(nn.Module):
    """Multiplies by a weight that it was given, whatever its format."""

    def __init__(self, weight: Tensor, *, as_buffer: bool = False) -> None:
        super().__init__()
        if as_buffer:
            self.register_buffer("weight", weight)
        else:
            self.weight = nn.Parameter(weight, requires_grad=weight.is_floating_point() or weight.is_complex())

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.weight.to(x.dtype)


class Then(nn.Module):
    """A projection, and what `change` makes of its output."""

    def __init__(self, change: Callable[[Tensor], object]) -> None:
        super().__init__()
        self.project, self.change = nn.Linear(HIDDEN, HIDDEN), change

    def forward(self, x: Tensor) -> object:
        return self.change(self.project(x))


def square(dtype: torch.dtype) -> Tensor:
    return torch.zeros(HIDDEN, HIDDEN, dtype=dtype)


@pytest.mark.parametrize(
    ("layer", "said"),
    [
        (nn.Linear(HIDDEN, HIDDEN).requires_grad_(False), "parameter weight of layer 1 (Linear) is frozen"),
        (Holding(square(torch.int8)), "parameter weight of layer 1 (Holding) is of int8, but weights are trained in"),
        (Holding(square(torch.complex64)), "is of complex64, but weights are trained in float32, float16, bfloat16"),
        (Holding(square(torch.float8_e4m3fn)), "is of float8_e4m3fn, but"),
        (nn.Linear(HIDDEN, HIDDEN).double(), "is of float64, but"),
        (Holding(square(torch.int32), as_buffer=True), "buffer weight of layer 1 (Holding) holds int32, as quantised"),
        (Holding(torch.zeros(HIDDEN, 0)), "parameter weight of layer 1 (Holding) has shape [32, 0], which holds noth"),
        (Then(lambda x: x[:0]), "layer 1 (Then): returned a tensor of shape [0, 16, 32], which holds nothing"),
        (Then(lambda x: x.argmax(-1)), "returned int64, through which no gradient passes"),
        (Then(lambda x: x.to(torch.complex64)), "returned complex64, through which no gradient passes"),
        (Then(lambda x: x.detach()), "returned numbers that are cut off from its weights and input"),
        (Then(lambda x: x.sum()), "returned a tensor of shape [], but the next layer needs at least batch and width"),
    ],
)
def test_what_is_not_trained_like_the_rest_has_no_price(layer: nn.Module, said: str) -> None:
    with pytest.raises(BadInputError) as caught:
        trace(blocks(layer))
    assert said in str(caught.value)


def test_masks_and_positions_are_no_quantised_weights() -> None:
    layer = DecoderBlock()
    layer.register_buffer("mask", torch.ones(HIDDEN, HIDDEN, dtype=torch.bool))
    layer.register_buffer("positions", torch.arange(HIDDEN)[None])
    # A table of an index, as windows of relative positions have it.
    layer.register_buffer("relative_position_index", torch.zeros(HIDDEN, HIDDEN, dtype=torch.int16))
    layer.register_buffer("causal", torch.ones(HIDDEN, HIDDEN, dtype=torch.int32))
    assert traced(trace(blocks(layer))).params == 8832


@pytest.mark.parametrize("name", ["weight", "qweight", "qzeros", "weight_packed", "weight_scale", "w_quantized"])
def test_quantised_weights_are_known_by_their_names(name: str) -> None:
    layer = DecoderBlock()
    layer.register_buffer(name, torch.zeros(HIDDEN, HIDDEN, dtype=torch.uint8))
    with pytest.raises(BadInputError, match=f"buffer {name} of layer 1 .* as quantised weights do"):
        trace(blocks(layer))


def test_a_model_of_transformers_is_to_be_given_as_its_config() -> None:
    from transformers import HeliumConfig, HeliumForCausalLM

    with pytest.raises(BadInputError, match=r"HeliumForCausalLM, a model of transformers; give its config\.json"):
        trace(HeliumForCausalLM(HeliumConfig(num_hidden_layers=1)))


def test_a_module_that_is_not_there_is_said_to_be_looked_for() -> None:
    with pytest.raises(
        BadInputError, match=r"there is no module no_such_module in the folder .* nor where Python looks"
    ):
        Factory("no_such_module:build")


class _SpeechlessError(Exception):
    def __str__(self) -> str:
        raise ValueError("nothing to say")


def test_an_exception_that_cannot_say_what_it_is_has_its_kind() -> None:
    def fail(_: Tensor) -> object:
        raise _SpeechlessError

    with pytest.raises(BadInputError, match=r"failed at .*: _SpeechlessError$"):
        trace(blocks(Then(fail)))


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
