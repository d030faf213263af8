"""Turns pieces of a recorded model into layers of a `ModelSpec`.

Blocks become `Traced` layers. Tables of the vocabulary become `Embedding` and `Head`, whose sizes say all there is to
say of them, where nothing else is at work in their piece; else they are traced too.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from costmodel.spec import Embedding, Head, Layer, LayerRun, Norm, Part, Traced
from profiler.tracing.experts import active_params, is_unclear
from profiler.tracing.fit import coefficients, misfit
from profiler.tracing.pieces import Piece

MAX_NAMES = 3
"""Classes that the name of a layer lists."""


def layer_runs(pieces: Sequence[Piece], lengths: Sequence[int], value_bytes: int) -> tuple[LayerRun, ...]:
    """The layers of `pieces` in order, equal ones in a row as one run; `value_bytes` is the size of a number in the
    traced passes of `lengths` tokens."""
    embedding = _embedding(pieces[0])
    runs: list[LayerRun] = []
    for piece in pieces:
        layer: Layer | None = None
        if piece.part is Part.EMBEDDING:
            layer = embedding
        elif piece.part is Part.HEAD and embedding is not None:
            layer = _head(piece, embedding, lengths)
        if layer is None:
            layer = _traced(piece, lengths, value_bytes)
        if runs and runs[-1].part is piece.part and runs[-1].layer == layer:
            runs[-1] = LayerRun(layer=layer, part=piece.part, count=runs[-1].count + 1)
        else:
            runs.append(LayerRun(layer=layer, part=piece.part))
    return tuple(runs)


def has_unclear_experts(pieces: Sequence[Piece]) -> bool:
    """Whether a block holds experts, but nothing told how many of them a token meets."""
    return any(is_unclear(piece.modules, piece.works[0]) for piece in pieces)


def misfit_in_words(pieces: Sequence[Piece], lengths: Sequence[int]) -> str:
    """What of the work of `pieces` does not grow with the tokens and their pairs; empty where all of it does."""
    amounts = {
        "FLOP": [[work.flop for work in piece.works] for piece in pieces],
        "saved bytes": [[float(work.saved_bytes) for work in piece.works] for piece in pieces],
    }
    for what, recorded in amounts.items():
        miss = misfit(recorded, lengths)
        if miss is not None:
            length, share = miss
            return (
                f"its {what} do not grow with the tokens and their pairs: what {lengths[0]} and {lengths[1]} tokens "
                f"tell is wrong by {share:.0%} at {length:,} tokens"
            )
    return ""


def _traced(piece: Piece, lengths: Sequence[int], value_bytes: int) -> Traced:
    short, long = piece.works[:2]
    flop, flop_squared = coefficients(short.flop, long.flop, lengths[0], lengths[1])
    saved, saved_squared = coefficients(
        short.saved_bytes / value_bytes, long.saved_bytes / value_bytes, lengths[0], lengths[1]
    )
    names = list(dict.fromkeys(type(module).__name__ for module in piece.modules))
    active = active_params(piece.modules, piece.params, short, lengths[0])
    return Traced(
        name=" + ".join(names[:MAX_NAMES]) or piece.part.value,
        hidden=piece.hidden,
        params=piece.num_params,
        active_params=None if active == piece.num_params else active,
        flop_per_token=flop,
        flop_per_token_squared=flop_squared,
        saved_values_per_token=saved,
        saved_values_per_token_squared=saved_squared,
    )


def _embedding(piece: Piece) -> Embedding | None:
    """The table of the vocabulary with the other weights beside it; None where something is multiplied there."""
    tables = [module for module in _parts(piece) if isinstance(module, nn.Embedding)]
    if not tables or any(work.flop for work in piece.works):
        return None
    table = max(tables, key=lambda module: module.num_embeddings)
    if table.embedding_dim != piece.hidden or not _holds(piece, table.weight):
        return None
    rest = piece.num_params - table.weight.numel()
    return Embedding(vocab=table.num_embeddings, hidden=piece.hidden, other_params=rest)


def _head(piece: Piece, embedding: Embedding, lengths: Sequence[int]) -> Head | None:
    """The projection onto the vocabulary; None where it is not all that is multiplied there."""
    vocab, hidden = embedding.vocab, embedding.hidden
    flop = tuple(2.0 * length * vocab * hidden for length in lengths)
    linear = [part for part in _parts(piece) if isinstance(part, nn.Linear) and part.weight.shape == (vocab, hidden)]
    if len(linear) != 1 or tuple(work.flop for work in piece.works) != flop:
        return None
    weight, bias = linear[0].weight, linear[0].bias
    if bias is not None and not _holds(piece, bias):
        return None
    # The table that it shares is that of the decoder where the encoder has one of its own.
    tied = not _holds(piece, weight)
    rest = piece.num_params - (0 if tied else weight.numel()) - (0 if bias is None else bias.numel())
    norm = _norm(piece, rest, hidden)
    rest -= 0 if norm is None else norm.num_params(hidden)
    return Head(vocab=vocab, hidden=hidden, tied=tied, bias=bias is not None, norm=norm, other_params=rest)


def _holds(piece: Piece, weight: Tensor) -> bool:
    """Whether the weight counts with this piece, rather than with an earlier one."""
    return any(weight is own for own in piece.params)


def _norm(piece: Piece, num_params: int, width: int) -> Norm | None:
    """The norm that `num_params` parameters beside the projection may hold."""
    names = " ".join(type(part).__name__ for part in _parts(piece)).upper()
    if "NORM" not in names or num_params < width:
        return None
    if "RMS" in names:
        return Norm.RMS
    return Norm.LAYER if num_params >= 2 * width else Norm.LAYER_WITHOUT_BIAS


def _parts(piece: Piece) -> list[nn.Module]:
    return [part for module in piece.modules for part in module.modules()]
