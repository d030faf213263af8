"""Times the layers of a model as training meets them: a short model, forward and then backward.

Timing one layer over and over finds its weights in the cache and its memory just freed, which a training step does
not. So each distinct layer stands in a slice of the model: the embedding, a few copies of each kind of block, the
head with its loss. A micro-batch passes forward through the slice and backward again, gradients are added to those
already there, and the time is taken at each border between layers. The graph is cut at the borders, as a pipeline
cuts it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from costmodel.spec import Layer, LayerSample, ModelSpec, Shards
from profiler.contract import DTYPES, LayerFactory, ProfileRequest
from profiler.rounds import Times, spread_of_ranks
from profiler.saved import SavedBytes
from profiler.stopwatch import Stopwatch

WORKING_SET_BYTES = 64 * 1024**2
"""What the copies of one kind of layer touch together: about twice a last-level cache of 36 MiB, so that a layer's own
bytes have left it when its turn comes again. One or two small blocks stay in the cache and look faster than they are
in a whole model."""
MIN_COPIES = 2
"""Copies of a layer that is larger than that, if the model has as many."""


@dataclass(frozen=True)
class LayerCase:
    """One distinct layer as one of `tp` ranks holds it, for one micro-batch."""

    layer: Layer
    tp: int
    micro_batch: int


def copies_needed(copy_bytes: int) -> int:
    """Copies of a layer that make up the working set, if one pass through a copy touches `copy_bytes`."""
    return max(MIN_COPIES, -(-WORKING_SET_BYTES // copy_bytes))


def slice_indices(model: ModelSpec, tp: int, bytes_per_number: int) -> dict[Layer, list[int]]:
    """For each distinct layer the positions (in `model.layers`) of the copies of it that a slice may hold.

    The first copies, as many as make up the working set on one of `tp` ranks with their weights and gradients alone,
    or all that the model has.
    """
    indices: dict[Layer, list[int]] = {}
    for index, layer in enumerate(model.layers):
        copies = indices.setdefault(layer, [])
        if len(copies) < copies_needed(2 * layer.num_params(Shards(tp=tp)) * bytes_per_number):
            copies.append(index)
    return indices


class LayerTimer:
    """The layers of all cases on one rank, ready to be timed in rounds."""

    def __init__(self, request: ProfileRequest, layers: LayerFactory, device: torch.device, watch: Stopwatch) -> None:
        dtype = DTYPES[request.precision]
        kinds = tuple(dict.fromkeys(request.model.layers))
        self.cases: list[LayerCase] = []
        self.saved_bytes: list[int] = []
        """Bytes kept for backward, one per case."""
        self._passes: list[tuple[ModelSlice, Tensor]] = []
        self._watch = watch
        longest = {tp: ModelSlice.build(tp, request, layers, device) for tp in request.tp_degrees}
        for micro_batch in request.micro_batches:
            tokens = layers.example_input(0, micro_batch, request.seq_len, device, dtype)
            for tp in request.tp_degrees:
                saved = longest[tp].shortened([1] * len(kinds)).saved_bytes(tokens)
                touched = [
                    2 * kind.num_params(Shards(tp=tp)) * dtype.itemsize + kept
                    for kind, kept in zip(kinds, saved, strict=True)
                ]
                self._passes.append((longest[tp].shortened([copies_needed(size) for size in touched]), tokens))
                self.saved_bytes += saved
                self.cases += [LayerCase(kind, tp, micro_batch) for kind in kinds]

    def visit(self) -> list[float]:
        """One round: forward seconds of every case, then backward seconds of every case."""
        passes = [layers.time(tokens, self._watch) for layers, tokens in self._passes]
        return [time for forward, _ in passes for time in forward] + [
            time for _, backward in passes for time in backward
        ]


class ModelSlice:
    """A few layers of the model, in their order, as one of `tp` ranks holds them."""

    def __init__(
        self, kinds: Sequence[int], modules: Sequence[nn.Module], loss: Callable[[Tensor, Tensor], Tensor]
    ) -> None:
        """`kinds` numbers the distinct layers, one number for each of `modules`; the last module is the head."""
        self.kinds = list(kinds)
        self.modules = list(modules)
        self._loss = loss
        self._targets: dict[torch.Size, Tensor] = {}

    @classmethod
    def build(cls, tp: int, request: ProfileRequest, layers: LayerFactory, device: torch.device) -> ModelSlice:
        """The longest slice that any case needs."""
        dtype = DTYPES[request.precision]
        copies = slice_indices(request.model, tp, dtype.itemsize)
        order = sorted((index, kind) for kind, indices in enumerate(copies.values()) for index in indices)
        modules = [layers.build_layer(index, tp, device, dtype).train() for index, _ in order]
        return cls([kind for _, kind in order], modules, layers.loss)

    def shortened(self, copies: Sequence[int]) -> ModelSlice:
        """The same modules, with only the first `copies[kind]` of each kind."""
        kept = [
            position for position, kind in enumerate(self.kinds) if self.kinds[:position].count(kind) < copies[kind]
        ]
        return ModelSlice(
            [self.kinds[position] for position in kept], [self.modules[position] for position in kept], self._loss
        )

    def saved_bytes(self, tokens: Tensor) -> list[int]:
        """Bytes that each distinct layer keeps for backward, of its last copy; its input counts where it is kept."""
        saved = [0] * (max(self.kinds) + 1)
        borders = []
        hidden = tokens
        for position, (kind, module) in enumerate(zip(self.kinds, self.modules, strict=True)):
            with SavedBytes([*module.parameters(), *module.buffers()]) as counter:
                borders.append(self._forward(position, hidden))
            saved[kind] = counter.total
            hidden = borders[-1][1]
        self._backward(borders)
        return saved

    def time(self, tokens: Tensor, watch: Stopwatch) -> tuple[list[float], list[float]]:
        """Seconds forward and backward of each distinct layer, the mean over its copies."""
        borders = []
        hidden = tokens
        watch.mark()
        for position in range(len(self.modules)):
            borders.append(self._forward(position, hidden))
            hidden = borders[-1][1]
            watch.mark()
        del hidden
        self._backward(borders, watch)
        times = watch.read()
        forward, backward = times[: len(self.modules)], times[len(self.modules) :][::-1]
        return self._by_kind(forward), self._by_kind(backward)

    def _forward(self, position: int, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Input and output of one module, cut off from the graph of the module before."""
        inputs = hidden.detach().requires_grad_() if hidden.is_floating_point() else hidden
        output: Tensor = self.modules[position](inputs)
        if position == len(self.modules) - 1:
            output = self._loss(output, self._target(output))
        return inputs, output

    def _backward(self, borders: list[tuple[Tensor, Tensor]], watch: Stopwatch | None = None) -> None:
        """Backward through all modules; empties `borders` on the way, as autograd frees what it has used."""
        gradient: Tensor | None = None
        while borders:
            inputs, output = borders.pop()
            torch.autograd.backward(output, gradient)
            gradient = inputs.grad
            if watch is not None:
                watch.mark()

    def _target(self, logits: Tensor) -> Tensor:
        """Token ids below the local vocabulary, the same ones at each call."""
        shape = logits.shape
        if shape not in self._targets:
            self._targets[shape] = torch.randint(shape[-1], shape[:-1], device=logits.device)
        return self._targets[shape]

    def _by_kind(self, times: Sequence[float]) -> list[float]:
        sums, counts = [0.0] * (max(self.kinds) + 1), [0] * (max(self.kinds) + 1)
        for kind, time in zip(self.kinds, times, strict=True):
            sums[kind] += time
            counts[kind] += 1
        return [total / count for total, count in zip(sums, counts, strict=True)]


def layer_samples(
    cases: Sequence[LayerCase], saved_bytes: Sequence[int], times_by_rank: Sequence[Times], request: ProfileRequest
) -> tuple[LayerSample, ...]:
    """Samples of all cases from the rounds of all ranks, each of shape (rounds, forward cases + backward cases)."""
    return tuple(
        LayerSample(
            layer=case.layer,
            tp=case.tp,
            micro_batch=case.micro_batch,
            seq_len=request.seq_len,
            precision=request.precision,
            forward=spread_of_ranks([times[:, item] for times in times_by_rank]),
            backward=spread_of_ranks([times[:, len(cases) + item] for times in times_by_rank]),
            saved_bytes=saved_bytes[item],
        )
        for item, case in enumerate(cases)
    )
