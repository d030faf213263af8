"""Cuts a recorded model into pieces, one for each layer, so that their parameters add up to those of the model.

A weight counts with the piece that first has it, so that shared weights count once. What runs between two stacks
belongs to the block before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from torch import nn

from costmodel.spec import Part
from profiler.tracing.recorder import Work
from profiler.tracing.whole_model import Outside, Pass


@dataclass
class Piece:
    """What becomes one layer."""

    part: Part
    modules: list[nn.Module]
    works: tuple[Work, Work]
    """At the shorter and at the longer sequence."""
    hidden: int
    params: list[nn.Parameter]
    """Those that no earlier piece has."""

    @property
    def num_params(self) -> int:
        """How many numbers its parameters hold."""
        return sum(weight.numel() for weight in self.params)


class Params:
    """Deals out parameters, each once."""

    def __init__(self) -> None:
        self._dealt: set[int] = set()

    def take(self, params: Iterable[nn.Parameter]) -> list[nn.Parameter]:
        """Those of `params` that nobody has taken."""
        fresh = []
        for param in params:
            if id(param) not in self._dealt:
                self._dealt.add(id(param))
                fresh.append(param)
        return fresh


def pieces_of(model: nn.Module, passes: tuple[Pass, Pass], encoder: str | None) -> list[Piece]:
    """Embedding, blocks and head in the order of their work; `encoder` names the stack that is one.

    Both passes went through the same calls.
    """
    short, long = passes
    params = Params()
    before, *between = zip(short.outside, long.outside, strict=True)
    pieces = [_outside(Part.EMBEDDING, before, params)]
    for calls, twins, outside in zip(short.stretches, long.stretches, between, strict=True):
        for call, twin in zip(calls, twins, strict=True):
            part = Part.ENCODER if call.stack == encoder else Part.BLOCKS
            own = params.take(weight for module in call.modules for weight in module.parameters())
            pieces.append(Piece(part, call.modules, (call.work, twin.work), call.hidden, own))
        if outside is not between[-1]:
            _add(pieces[-1], outside, params)
    pieces.append(_outside(Part.HEAD, between[-1], params))
    pieces[0].hidden, pieces[-1].hidden = pieces[1].hidden, pieces[-2].hidden
    _deal_the_rest(model, pieces, params)
    return pieces


def _outside(part: Part, outside: tuple[Outside, Outside], params: Params) -> Piece:
    short, long = outside
    return Piece(part, short.modules, (short.work, long.work), 0, _own(short.modules, params))


def _add(piece: Piece, outside: tuple[Outside, Outside], params: Params) -> None:
    short, long = outside
    piece.works = (piece.works[0] + short.work, piece.works[1] + long.work)
    piece.params += _own(short.modules, params)


def _own(modules: Sequence[nn.Module], params: Params) -> list[nn.Parameter]:
    return params.take(weight for module in modules for weight in module.parameters(recurse=False))


def _deal_the_rest(model: nn.Module, pieces: list[Piece], params: Params) -> None:
    """Weights that no call showed: to the embedding where they are registered before the blocks, else to the head."""
    of_blocks = {id(weight) for piece in pieces[1:-1] for weight in piece.params}
    place = pieces[0]
    for weight in model.parameters():
        if id(weight) in of_blocks:
            place = pieces[-1]
        place.params += params.take([weight])
