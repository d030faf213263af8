"""Layers of one's own that have no price: what is not trained, or whose work two lengths do not tell."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from own_layers import HIDDEN, DecoderBlock, blocks, trace, traced
from torch import Tensor, nn

from costmodel.errors import BadInputError
from profiler.tracing.factory import Factory


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


@pytest.mark.parametrize(
    ("layer", "said"),
    [(Latents(), r"is wrong by \d+% at 16,384 tokens"), (Switching(), r"is wrong by \d+% at 16,384 tokens")],
)
def test_work_that_two_lengths_do_not_tell_has_no_price(layer: nn.Module, said: str) -> None:
    with pytest.raises(BadInputError, match=f"its FLOP do not grow with the tokens and their pairs: .* {said}"):
        trace(blocks(layer))


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
