"""Checks the keys of rotary position embeddings: those that transformers needs for each kind, and their ranges.

The kinds change angles, and neither shapes nor time, so nothing here enters a `ModelSpec`. But a model whose angles
cannot be computed cannot be trained, and transformers 5.24 only warns of most values or fails on them inside torch.
What each kind reads stands in its `modeling_rope_utils`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from costmodel.errors import BadInputError
from costmodel.spec.shown import shown

MAX_POSITIONS = 2**31
"""Far above any sequence; a factor stretches positions, so none is larger either."""


@dataclass(frozen=True)
class Kind:
    """The keys that one rope_type reads, besides rope_theta."""

    needed: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    per_pair: tuple[str, ...] = ()
    """Needed too: lists with one number for each pair of a head's dimensions."""
    reads_original_length: bool = False
    """Whether original_max_position_embeddings counts, max_position_embeddings where it is not given."""


KINDS = {
    "default": Kind(),
    "linear": Kind(needed=("factor",)),
    "dynamic": Kind(needed=("factor",)),
    "yarn": Kind(
        needed=("factor",),
        optional=("attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim"),
        reads_original_length=True,
    ),
    "longrope": Kind(
        optional=("factor", "attention_factor"), per_pair=("short_factor", "long_factor"), reads_original_length=True
    ),
    "llama3": Kind(needed=("factor", "low_freq_factor", "high_freq_factor"), reads_original_length=True),
}
"""By rope_type; the classes that are read here know no other."""

LEAST = {"factor": 1, "attention_factor": 0, "mscale": 0, "mscale_all_dim": 0}
"""The least value of a key; every other key must be above 0."""


def check_rope(config: Mapping[str, Any], head_dim: int, where: str, path: str = "", inside: str = "") -> None:
    """Raise BadInputError, naming the key, unless the angles of heads of `head_dim` (even) can be computed.

    Reads older configs (rope_theta, rope_scaling) and newer ones (rope_parameters). In messages `path` stands before
    the keys of `config`, and `inside` before those of the rotation, which may be one of several: `full_attention.`.
    """
    outside = f"{where}: {path}"
    _check_theta(config, outside)
    for place in ("rope_scaling", "rope_parameters"):
        values = config.get(place)
        if values is None:
            continue
        if not isinstance(values, dict):
            raise BadInputError(f"{outside}{place} is {shown(values)}, but must be an object or null")
        label = f"{outside}{place}.{inside}"
        _check_theta(values, label)
        for key in ("rope_type", "type"):
            if key in values and values[key] not in tuple(KINDS):
                raise BadInputError(f"{label}{key} is {shown(values[key])}, but must be one of {', '.join(KINDS)}")
        name = str(values.get("rope_type", values.get("type", "default")))
        _check_keys(values, name, head_dim, label)
        if KINDS[name].reads_original_length:
            _check_original_length(config, values, outside, label)
        if name != "default":
            # Also where the key stands outside, since transformers copies it inside.
            _check_whole_heads(config, outside)
            _check_whole_heads(values, label)
        if name == "dynamic" and head_dim < 4:
            raise BadInputError(f"{label}rope_type is dynamic, but head_dim is {head_dim}; it must be at least 4")
        if name == "yarn" and values.get("rope_theta", config.get("rope_theta")) == 1:
            raise BadInputError(f"{label}rope_type is yarn, but rope_theta is 1, whose logarithm is 0; give another")


def _check_theta(values: Mapping[str, Any], label: str) -> None:
    key = "rope_theta"
    if key in values and not _is_number(values[key], most=sys.float_info.max):
        raise BadInputError(f"{label}{key} is {shown(values[key])}, but must be a number above 0")


def _check_keys(values: Mapping[str, Any], name: str, head_dim: int, label: str) -> None:
    kind = KINDS[name]
    for key in (*kind.needed, *kind.per_pair):
        if key not in values:
            raise BadInputError(f"{label}{key} is missing; rope_type {name} needs it")
    for key in kind.needed + kind.optional:
        value = values.get(key)
        if value is None and key in kind.optional:
            continue
        if not _is_number(value, least=LEAST.get(key)):
            least = f"of at least {LEAST[key]}" if key in LEAST else "above 0"
            raise BadInputError(
                f"{label}{key} is {shown(value)}, but must be a number {least} and at most {MAX_POSITIONS}"
            )
    for key in kind.per_pair:
        value = values[key]
        if (
            not isinstance(value, list)
            or len(value) != head_dim // 2
            or not all(_is_number(number) for number in value)
        ):
            raise BadInputError(
                f"{label}{key} is {shown(value)}, but must be a list of head_dim / 2 = {head_dim // 2} numbers above 0 "
                f"and at most {MAX_POSITIONS}"
            )
    # Equal ones, as in Llama 4 Scout, leave no frequencies between those that are stretched and those that are not.
    if name == "llama3" and values["high_freq_factor"] < values["low_freq_factor"]:
        raise BadInputError(
            f"{label}high_freq_factor is {shown(values['high_freq_factor'])}, but must not be below "
            f"{label.rpartition(': ')[2]}low_freq_factor, which is {shown(values['low_freq_factor'])}"
        )


def _check_original_length(config: Mapping[str, Any], values: Mapping[str, Any], outside: str, label: str) -> None:
    """At least 2, since its logarithm divides."""
    key = "original_max_position_embeddings"
    given = [(at, place[key]) for at, place in ((outside, config), (label, values)) if key in place]
    for at, length in given:
        if type(length) is not int or not 2 <= length <= MAX_POSITIONS:
            raise BadInputError(f"{at}{key} is {shown(length)}, but must be a whole number from 2 to {MAX_POSITIONS}")
    if not given and config.get("max_position_embeddings") == 1:
        raise BadInputError(
            f"{outside}max_position_embeddings is 1, but stands for {key} too, which must be at least 2"
        )


def _check_whole_heads(values: Mapping[str, Any], label: str) -> None:
    share = values.get("partial_rotary_factor", 1)
    if share != 1 or isinstance(share, bool):
        raise BadInputError(
            f"{label}partial_rotary_factor is {shown(share)}, but must be 1: the supported classes rotate whole heads"
        )


def _is_number(value: Any, *, least: float | None = None, most: float = MAX_POSITIONS) -> bool:
    """Whether `value` is a number up to `most`, and from `least` on; above 0 where there is no `least`."""
    if type(value) not in (int, float):
        return False
    return bool((value > 0 if least is None else value >= least) and value <= most)
