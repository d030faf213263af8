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
    works: tuple[Work, ...]
    """At each length that was traced."""
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


def pieces_of(model: nn.Module, passes: Sequence[Pass], encoder: str | None) -> list[Piece]:
    """Embedding, blocks and head in the order of their work; `encoder` names the stack that is one.

    All passes went through the same calls.
    """
    params = Params()
    before, *between = zip(*(recorded.outside for recorded in passes), strict=True)
    pieces = [_outside(Part.EMBEDDING, before, params)]
    for stretches, outside in zip(zip(*(recorded.stretches for recorded in passes), strict=True), between, strict=True):
        for calls in zip(*stretches, strict=True):
            call = calls[0]
            part = Part.ENCODER if call.stack == encoder else Part.BLOCKS
            own = params.take(weight for module in call.modules for weight in module.parameters())
            pieces.append(Piece(part, call.modules, tuple(one.work for one in calls), call.hidden, own))
        if outside is not between[-1]:
            _add(pieces[-1], outside, params)
    pieces.append(_outside(Part.HEAD, between[-1], params))
    pieces[0].hidden, pieces[-1].hidden = pieces[1].hidden, pieces[-2].hidden
    _deal_the_rest(model, pieces, params)
    return pieces


def _outside(part: Part, outside: Sequence[Outside], params: Params) -> Piece:
    modules = outside[0].modules
    return Piece(part, modules, tuple(one.work for one in outside), 0, _own(modules, params))


def _add(piece: Piece, outside: Sequence[Outside], params: Params) -> None:
    piece.works = tuple(work + one.work for work, one in zip(piece.works, outside, strict=True))
    piece.params += _own(outside[0].modules, params)


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
