"""Sizes a model that no family reads: builds the class that its config names, and records what it does.

Nothing is allocated, nothing downloaded. Parameters are those of the class, counted. FLOP and saved bytes are those of
forward passes in bf16 over one sequence of each of a few lengths, from which both are known at any length. A class
whose own code takes no bf16 is run in fp32.
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
from profiler.tracing.failures import CODE_ERRORS, in_words, mixes_formats, quiet_torch, quiet_transformers
from profiler.tracing.fake import fake_mode, to_fake
from profiler.tracing.fit import passes_at_lengths
from profiler.tracing.layers import has_unclear_experts, layer_runs, misfit_in_words
from profiler.tracing.pieces import Piece, pieces_of
from profiler.tracing.recorder import MAX_CALLS, NARROW_WINDOW, Recorder, TooManyCallsError
from profiler.tracing.stacks import stacks
from profiler.tracing.transformers_model import build, require_transformers
from profiler.tracing.whole_model import Pass, record_pass

FORMATS = {"bf16": torch.bfloat16, "fp32": torch.float32}
"""Of weights and activations, the first one where the class runs in it."""


class _FormatError(Exception):
    """The class does not run in this format."""


def trace_config(config: dict[str, Any], where: str, name: str) -> ModelSpec:
    """The model of the Hugging Face config `config`; `where` names its origin in errors.

    Raises MissingError without transformers. Raises BadInputError where transformers cannot build the class, or where
    the class cannot be run on token ids without values: its work is not guessed.
    """
    require_transformers(where)
    with quiet_torch(), quiet_transformers(), recorded_attention() as attention:
        try:
            return _traced(config, where, name, attention, "bf16")
        except _FormatError:
            return _traced(config, where, name, attention, "fp32")


def _traced(config: dict[str, Any], where: str, name: str, attention: RecordedAttention, number: str) -> ModelSpec:
    """The model as it runs in the format `number`; raises _FormatError for bf16 that the class does not take."""
    model = build(config, where, FORMATS[number])
    longest = _max_seq_len(model)
    fail = functools.partial(_refuse, model, where)
    blocks = stacks(model)
    if not blocks:
        raise fail("it has no list of blocks")
    with fake_mode():
        to_fake(model)
        try:
            passes = passes_at_lengths(
                lambda length, max_calls: _record(model, blocks, attention, length, max_calls), longest, CODE_ERRORS
            )
        except CODE_ERRORS as error:
            if number == "bf16" and mixes_formats(error):
                raise _FormatError from None
            raise fail(_other_input(model) or in_words(error)) from None
        except TooManyCallsError:
            raise fail(f"it takes more than {MAX_CALLS:,} calls into torch") from None
    first = passes.recorded[0]
    called = {id(part) for stretch in first.stretches for call in stretch for part in call.modules}
    idle = [key for key, stack in blocks.items() if any(id(block) not in called for block in stack)]
    if idle:
        raise fail(f"{', '.join(idle)} did not run on token ids alone")
    if len({recorded.calls for recorded in passes.recorded}) > 1:
        raise fail("which of its blocks run depends on the length of the sequence")
    if any(not call.hidden for stretch in first.stretches for call in stretch):
        raise fail("one of its blocks returns no numbers")
    pieces = pieces_of(model, passes.recorded, _encoder(model, first))
    if misfit := misfit_in_words(pieces, passes.lengths):
        raise fail(misfit)
    return ModelSpec(
        name=name,
        architecture=type(model).__name__,
        runs=layer_runs(pieces, passes.lengths, FORMATS[number].itemsize),
        max_seq_len=passes.longest or longest,
        assumptions=_assumptions(config, model, pieces, number),
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


def _refuse(model: Any, where: str, reason: str) -> BadInputError:
    num_params = sum(weight.numel() for weight in model.parameters())
    # Layers in a row that take token ids: what a factory may return.
    advice = "" if _other_input(model) or model.config.is_encoder_decoder else "; give the model as module:factory"
    return BadInputError(
        f"{where}: no family reads {type(model).__name__}; it has {num_params:,} parameters, but its forward pass "
        f"cannot be traced, so its FLOP and memory are not known: {reason}{advice}"
    )


def _other_input(model: Any) -> str:
    """That the model is fed by something else than token ids; empty where it is not."""
    fed_by = model.main_input_name
    return "" if fed_by == "input_ids" else f"it is fed by {fed_by}, and only token ids are traced"


def _max_seq_len(model: Any) -> int | None:
    longest = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    return longest if isinstance(longest, int) and longest > 0 else None


def _encoder(model: Any, recorded: Pass) -> str | None:
    """The stack that runs first in a model of encoder and decoder."""
    is_pair = bool(model.config.is_encoder_decoder) and len(recorded.stretches) > 1
    return recorded.stretches[0][0].stack if is_pair else None


def _assumptions(config: dict[str, Any], model: Any, pieces: list[Piece], number: str) -> tuple[str, ...]:
    architecture = type(model).__name__
    said = [
        f"Sized by tracing transformers' {architecture} in {number}, without its fused kernels; no family reads it, so "
        "its layers cannot be split by tensor parallelism."
    ]
    if not config.get("architectures"):
        said.append(f"The class is {architecture}, taken from model_type {shown(config.get('model_type'))}.")
    elif config.get("model_type") not in (None, type(model.config).model_type):
        said.append(f"The model_type {shown(config['model_type'])} is not that of {architecture}, which is read.")
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
