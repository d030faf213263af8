"""How long the sequences of a job are: what the model says, what the user asks for, and the default between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from costmodel.errors import BadInputError
from costmodel.spec import ModelSpec
from planner.models.longest import keys_of_length
from planner.models.presets import preset_path

DEFAULT_SEQ_LEN = 4096
"""Tokens, where the model allows as many."""
MAX_SEQ_LEN = 2**31


def default_seq_len(model: ModelSpec) -> int:
    """The length that a job of `model` has where nobody says one."""
    if model.fixed_seq_len is not None:
        return model.fixed_seq_len
    return min(model.max_seq_len or MAX_SEQ_LEN, max(DEFAULT_SEQ_LEN, model.sense_tokens))


def check_seq_len(seq_len: int, model: ModelSpec, hf_config: Mapping[str, Any], named: str | None) -> None:
    """Raise BadInputError, with what would do, for a length that `model` cannot be trained at.

    `named` is what the user called the model; None where a profile brought it.
    """
    longest = model.max_seq_len
    if not 1 <= seq_len <= MAX_SEQ_LEN:
        most = min(longest or MAX_SEQ_LEN, MAX_SEQ_LEN)
        raise BadInputError(f"--seq-len is {seq_len}, but must be a whole number from 1 to {most}")
    if model.fixed_seq_len not in (None, seq_len):
        raise BadInputError(
            f"--seq-len is {seq_len}, but {model.name} works on {model.fixed_seq_len} tokens, whatever the job; leave "
            "--seq-len out"
        )
    taken = f"the image or sound in each sequence of {model.name} takes {model.sense_tokens} tokens of it"
    if longest is not None and longest < model.sense_tokens:
        # No length would do, and so there is no default either.
        raise BadInputError(
            f"{model.name} cannot be trained at any --seq-len: {taken}, but a sequence has {longest} at most; give a "
            "config.json with smaller images or longer sequences"
        )
    if longest is not None and seq_len > longest:
        keys = keys_of_length(hf_config, longest)
        if named is None:
            more = ", or name a config.json of your own that takes more"
        elif preset_path(named) is not None:
            more = f", or name a config.json of your own that takes more (start from `planner show {named} --config`)"
        else:
            more = f", or raise {' and '.join(keys)} in its config.json" if keys else ""
        raise BadInputError(
            f"--seq-len is {seq_len}, but {model.name} takes at most {longest} tokens; use at most that{more}"
        )
    if seq_len < model.sense_tokens:
        raise BadInputError(f"--seq-len is {seq_len}, but {taken}; use at least that, and more for text")
