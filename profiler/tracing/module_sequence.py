"""Sizes a model that is given as modules in order: the first takes tokens, each of the others what the one before
returned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import torch
from torch import Tensor, nn

from costmodel.errors import BadInputError
from costmodel.spec import ModelSpec, Part
from profiler.tracing.factory import Factory, users_code
from profiler.tracing.failures import a_kind, quiet_torch
from profiler.tracing.fake import fake_mode, to_fake
from profiler.tracing.fit import passes_at_lengths
from profiler.tracing.layers import has_unclear_experts, layer_runs, misfit_in_words
from profiler.tracing.pieces import Params, Piece
from profiler.tracing.recorder import MAX_CALLS, Recorder, TooManyCallsError, Work
from profiler.tracing.stacks import Signature, signature
from profiler.tracing.trainable import refuse_output, refuse_untrainable

MAX_LAYERS = 1000
MIN_LAYERS = 3

Recorded = list[tuple[Work, int]]
"""Work of each layer, and the last dimension of what it returned."""


def trace_factory(factory: Factory) -> ModelSpec:
    """The model that the user's `factory` builds: its first layer the embedding, its last one the head.

    Raises BadInputError, one sentence, for whatever is wrong with it.
    """
    where = f"factory {factory.text}"
    modules, example_input = factory.layers()
    if not MIN_LAYERS <= len(modules) <= MAX_LAYERS:
        raise BadInputError(
            f"{where}: returned {len(modules)} layers, but must return from {MIN_LAYERS} (embedding, block, head) to "
            f"{MAX_LAYERS:,}"
        )
    whole = nn.ModuleList(modules)
    refuse_untrainable(modules, where)
    with quiet_torch(), fake_mode():
        to_fake(whole)

        def record(seq_len: int, max_calls: int) -> tuple[Recorded, int]:
            with users_code(where, "making its example_input"):
                inputs = _tokens(1, seq_len) if example_input is None else example_input(1, seq_len)
            if not isinstance(inputs, Tensor):
                raise BadInputError(f"{where}: example_input returned {a_kind(inputs)}, but must return a tensor")
            return _record(whole, inputs, max_calls, where)

        try:
            passes = passes_at_lengths(record, None, (BadInputError,))
        except TooManyCallsError:
            raise BadInputError(
                f"{where}: a forward pass takes more than {MAX_CALLS:,} calls into torch, too many to trace"
            ) from None
    params = Params()
    pieces = [
        Piece(
            _part(index, len(modules)),
            [module],
            tuple(work for work, _ in recorded),
            recorded[0][1],
            params.take(module.parameters()),
        )
        for index, (module, *recorded) in enumerate(zip(modules, *passes.recorded, strict=True))
    ]
    if misfit := misfit_in_words(pieces, passes.lengths):
        raise BadInputError(f"{where}: {misfit}, so its work at other lengths is not known")
    # A head is as wide as what it reads.
    pieces[-1].hidden = pieces[-2].hidden
    said = [
        f"Sized by tracing the {len(modules)} modules of {factory.text}; their layers cannot be split by tensor "
        "parallelism, nor run by planner."
    ]
    if has_unclear_experts(pieces):
        said.append("How many experts a token meets is not known: all parameters are counted as active.")
    if passes.longest is None:
        said.append(f"Sequences longer than {passes.lengths[-1]:,} tokens were not tried.")
    else:
        said.append(f"Its pass over more than {passes.longest:,} tokens fails.")
    return ModelSpec(
        name=factory.text,
        architecture=factory.text,
        runs=layer_runs(pieces, passes.lengths, _value_bytes(whole)),
        max_seq_len=passes.longest,
        assumptions=tuple(said),
    )


def _value_bytes(modules: nn.Module) -> int:
    """Of the format that most weights have: also that of most activations, where a few norms keep another."""
    counts: Counter[int] = Counter()
    for weight in modules.parameters():
        counts[weight.dtype.itemsize] += weight.numel()
    return counts.most_common(1)[0][0]


def _tokens(batch: int, seq_len: int) -> Tensor:
    return torch.zeros((batch, seq_len), dtype=torch.int64)


def _record(modules: nn.ModuleList, inputs: Tensor, max_calls: int, where: str) -> tuple[Recorded, int]:
    """Run the layers one after the other; one that equals a layer before is not run again."""
    recorder = Recorder([*modules.parameters(), *modules.buffers()], max_calls)
    recorded: Recorded = []
    twins: dict[tuple[Signature, torch.Size, torch.dtype], tuple[Tensor, Work]] = {}
    with recorder:
        for index, module in enumerate(modules):
            key = (signature(module), inputs.shape, inputs.dtype)
            if key not in twins:
                given = inputs.detach().requires_grad_() if inputs.is_floating_point() else inputs
                twins[key] = (
                    _output(module, given, f"{where}: layer {index} ({type(module).__name__})", module is modules[-1]),
                    recorder.take(),
                )
            inputs, work = twins[key]
            recorded.append((work, inputs.shape[-1] if inputs.dim() else 0))
        return recorded, recorder.num_calls


def _output(module: Callable[[Tensor], object], inputs: Tensor, where: str, is_last: bool) -> Tensor:
    with users_code(where, f"its forward pass on a tensor of shape {list(inputs.shape)}"):
        output = module(inputs)
    return refuse_output(output, where, is_last=is_last)


def _part(index: int, num_layers: int) -> Part:
    if index == 0:
        return Part.EMBEDDING
    return Part.HEAD if index == num_layers - 1 else Part.BLOCKS
