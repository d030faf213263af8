"""Sizes a model that no family reads: builds the class that its config names, and records what it does.

Nothing is allocated, nothing downloaded. Parameters are those of the class, counted. FLOP and saved bytes are those of
forward passes in bf16 over one sequence of each of two lengths, from which both are known at any length.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

import torch
from torch import nn

from costmodel.errors import BadInputError
from costmodel.spec import ModelSpec, Part
from costmodel.spec.shown import shown
from profiler.tracing.attention import RecordedAttention, recorded_attention
from profiler.tracing.class_defaults import filled_in_words
from profiler.tracing.failures import CODE_ERRORS, in_words, quiet_torch, quiet_transformers
from profiler.tracing.fake import fake_mode, to_fake
from profiler.tracing.fit import passes_at_lengths
from profiler.tracing.layers import has_unclear_experts, layer_runs, misfit_in_words
from profiler.tracing.pieces import Piece, pieces_of
from profiler.tracing.recorder import MAX_CALLS, NARROW_WINDOW, Recorder, TooManyCallsError
from profiler.tracing.stacks import stacks
from profiler.tracing.transformers_model import build, require_transformers
from profiler.tracing.whole_model import Pass, record_pass

VALUE_BYTES = 2
"""Of bf16."""


def trace_config(config: dict[str, Any], where: str, name: str) -> ModelSpec:
    """The model of the Hugging Face config `config`; `where` names its origin in errors.

    Raises MissingError without transformers. Raises BadInputError where transformers cannot build the class, or where
    the class cannot be run on token ids without values: its work is not guessed.
    """
    require_transformers(where)
    with quiet_torch(), quiet_transformers(), recorded_attention() as attention:
        model = build(config, where)
        architecture = type(model).__name__
        longest = _max_seq_len(model)
        fail = functools.partial(_refuse, model, architecture, where)
        blocks = stacks(model)
        if not blocks:
            raise fail("it has no list of blocks")
        with fake_mode():
            try:
                to_fake(model)
                passes = passes_at_lengths(
                    lambda length, max_calls: _record(model, blocks, attention, length, max_calls),
                    longest,
                    CODE_ERRORS,
                )
            except CODE_ERRORS as error:
                raise fail(in_words(error)) from None
            except TooManyCallsError:
                raise fail(f"it takes more than {MAX_CALLS:,} calls into torch") from None
    called = {id(part) for stretch in passes.recorded[0].stretches for call in stretch for part in call.modules}
    idle = [key for key, stack in blocks.items() if any(id(block) not in called for block in stack)]
    if idle:
        raise fail(f"{', '.join(idle)} did not run on token ids alone")
    if len({recorded.calls for recorded in passes.recorded}) > 1:
        raise fail("which of its blocks run depends on the length of the sequence")
    pieces = pieces_of(model, passes.recorded, _encoder(model, passes.recorded[0]))
    if misfit := misfit_in_words(pieces, passes.lengths):
        raise fail(misfit)
    return ModelSpec(
        name=name,
        architecture=architecture,
        runs=layer_runs(pieces, passes.lengths, VALUE_BYTES),
        max_seq_len=passes.longest or longest,
        assumptions=_assumptions(config, model, pieces),
    )


def _record(
    model: nn.Module, blocks: dict[str, nn.ModuleList], attention: RecordedAttention, seq_len: int, max_calls: int
) -> tuple[Pass, int]:
    ids = torch.zeros((1, seq_len), dtype=torch.int64)
    inputs = {"input_ids": ids}
    if "decoder_input_ids" in inspect.signature(model.forward).parameters:
        inputs["decoder_input_ids"] = ids

    def run(recorder: Recorder) -> None:
        attention.recorder = recorder
        model(**inputs)

    return record_pass(model.train(), blocks, max_calls, run)


def _refuse(model: nn.Module, architecture: str, where: str, reason: str) -> BadInputError:
    num_params = sum(weight.numel() for weight in model.parameters())
    return BadInputError(
        f"{where}: no family reads {architecture}; it has {num_params:,} parameters, but its forward pass cannot be "
        f"traced, so its FLOP and memory are not known: {reason}; give the model as module:factory"
    )


def _max_seq_len(model: Any) -> int | None:
    longest = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    return longest if isinstance(longest, int) and longest > 0 else None


def _encoder(model: Any, recorded: Pass) -> str | None:
    """The stack that runs first in a model of encoder and decoder."""
    is_pair = bool(model.config.is_encoder_decoder) and len(recorded.stretches) > 1
    return recorded.stretches[0][0].stack if is_pair else None


def _assumptions(config: dict[str, Any], model: Any, pieces: list[Piece]) -> tuple[str, ...]:
    architecture = type(model).__name__
    said = [
        f"Sized by tracing transformers' {architecture} in bf16, without its fused kernels; no family reads it, so its "
        "layers cannot be split by tensor parallelism."
    ]
    if not config.get("architectures"):
        said.append(f"The class is {architecture}, taken from model_type {shown(config.get('model_type'))}.")
    if filled := filled_in_words(model.config, config):
        said.append(filled)
    if not any(work.has_fused_attention for piece in pieces for work in piece.works if piece.part is not Part.HEAD):
        said.append("It writes its attention out, if it has any: what a causal mask spares is not taken off.")
    if any(work.has_masked_attention for piece in pieces for work in piece.works):
        said.append("It hands its attention a mask: pairs that the mask hides, as a causal one does, are counted too.")
    if has_unclear_experts(pieces):
        said.append("How many experts a token meets is not known: all parameters are counted as active.")
    if any(work.has_wide_window for piece in pieces for work in piece.works):
        said.append(f"Attention windows wider than {NARROW_WINDOW:,} tokens are counted as the whole sequence.")
    return tuple(said)
