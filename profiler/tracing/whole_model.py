"""Runs a whole model once on fake tensors and books its work: to its blocks, and to what stands before and after them.

The model calls its blocks itself, with whatever arguments they take. A block that does the same work as one before is
not run again: without values there is nothing to compute, so it hands out what its twin returned.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from profiler.tracing.fake import tensors_in
from profiler.tracing.recorder import Recorder, Work, storage_id
from profiler.tracing.stacks import Signature, signature


@dataclass
class Call:
    """One call of a block."""

    modules: list[nn.Module]
    """The block, and those of other stacks that it calls."""
    stack: str
    work: Work
    hidden: int
    """Last dimension of what it returns."""


@dataclass
class Outside:
    """What ran outside blocks, between two stacks or before or after them."""

    work: Work = field(default_factory=Work)
    modules: list[nn.Module] = field(default_factory=list)
    """Those with parameters of their own, in the order of their first call."""


@dataclass
class Pass:
    """One forward pass in order: `outside[i]` ran before the i-th stretch of calls, the last one after all."""

    outside: list[Outside] = field(default_factory=lambda: [Outside()])
    stretches: list[list[Call]] = field(default_factory=list)
    """Calls in a row of blocks of one stack."""

    @property
    def calls(self) -> tuple[tuple[int, ...], ...]:
        """Which blocks ran in which order: equal for two passes that differ in the amount of work only."""
        return tuple(tuple(id(call.modules[0]) for call in stretch) for stretch in self.stretches)


def record_pass(
    model: nn.Module, stacks: dict[str, nn.ModuleList], max_calls: int, run: Callable[[Recorder], object]
) -> tuple[Pass, int]:
    """What `run`, which runs `model` forward under the fake mode, does, and its number of calls into torch.

    Raises TooManyCallsError where those are above `max_calls`, and whatever `run` raises.
    """
    recorder = Recorder([*model.parameters(), *model.buffers()], max_calls)
    watch = _Watch(recorder)
    blocks = [(name, block) for name, stack in stacks.items() for block in stack]
    inside = {id(part) for _, block in blocks for part in block.modules()}
    handles = [
        module.register_forward_pre_hook(watch.note_outside)
        for module in model.modules()
        if id(module) not in inside and module._parameters
    ]
    try:
        for name, block in blocks:
            block.forward = functools.partial(watch.call, block, name, signature(block), block.forward)
        with recorder:
            run(recorder)
        watch.finish()
    finally:
        for handle in handles:
            handle.remove()
        for _, block in blocks:
            vars(block).pop("forward", None)
    return watch.result, recorder.num_calls


class _Watch:
    def __init__(self, recorder: Recorder) -> None:
        self.result = Pass()
        self._recorder = recorder
        self._twins: dict[tuple[object, ...], tuple[Any, Work]] = {}
        self._pending = Outside()
        """What ran since the last block."""
        self._at_work: list[nn.Module] = []
        """The block that is running, and those of other stacks that it has called."""

    def note_outside(self, module: nn.Module, _args: object) -> None:
        if all(module is not known for known in self._pending.modules):
            self._pending.modules.append(module)

    def call(
        self, block: nn.Module, stack: str, looks: Signature, forward: Callable[..., Any], *args: Any, **kw: Any
    ) -> Any:
        """Stands in for `block.forward`."""
        if self._at_work:
            self._at_work.append(block)
            return forward(*args, **kw)
        self._begin(stack)
        inputs = list(tensors_in((args, kw)))
        twin = (stack, looks, tuple((tensor.shape, tensor.dtype) for tensor in inputs))
        self._at_work = [block]
        if twin not in self._twins:
            output = forward(*args, **kw)
            self._twins[twin] = output, self._recorder.take(shared=_handed_to_all(inputs))
        modules, self._at_work = self._at_work, []
        output, work = self._twins[twin]
        hidden = next((tensor.shape[-1] for tensor in tensors_in(output) if tensor.is_floating_point()), 0)
        self.result.stretches[-1].append(Call(modules, stack, work, hidden))
        return output

    def _begin(self, stack: str) -> None:
        """Book what ran since the last block: before this stack if a new one begins, else after the one at work."""
        self._pending.work += self._recorder.take()
        stretches = self.result.stretches
        if not stretches or stretches[-1][-1].stack != stack:
            self._book(self.result.outside[-1])
            self.result.outside.append(Outside())
            stretches.append([])
        else:
            self._book(self.result.outside[-1])

    def _book(self, place: Outside) -> None:
        place.work += self._pending.work
        place.modules += self._pending.modules
        self._pending = Outside()

    def finish(self) -> None:
        """Book what ran after the last block."""
        self._pending.work += self._recorder.take()
        self._book(self.result.outside[-1])


def _handed_to_all(inputs: list[Tensor]) -> list[Tensor]:
    """Inputs that a block shares with others: all but its hidden state, the first one that needs a gradient."""
    hidden = next((tensor for tensor in inputs if tensor.requires_grad), None)
    if hidden is None:
        return inputs
    return [tensor for tensor in inputs if storage_id(tensor) != storage_id(hidden)]
