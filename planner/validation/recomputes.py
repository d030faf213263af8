"""What is computed again in backward, as sources write it."""

from __future__ import annotations

import re

from costmodel.spec import Recompute

_WHOLE_LAYERS = re.compile(r"full( \(uniform, 1\))?")
_SCORES_ONLY = re.compile(r"selective( \(core.?att(entio)?n\))?")
"""Megatron's `selective` alone repeats what lies between queries and the output of the heads (arXiv 2205.05198)."""


def repeats_scores_alone(text: str) -> bool:
    """Whether `text` names the mode that keeps everything but the scores of attention.

    A fused kernel repeats them anyway, so beside one the mode costs and saves nothing. In a stack that keeps scores it
    drops them and repeats the core of attention, which has no price yet (a gap).
    """
    return _SCORES_ONLY.fullmatch(text.strip().lower()) is not None


def recompute_named(text: str) -> Recompute | None:
    """The mode of every block that `text` names, where attention is fused; None for one that the cost model has no
    word for."""
    lower = text.strip().lower()
    if lower in ("none", "off", "no") or repeats_scores_alone(text):
        return Recompute.NONE
    return Recompute.FULL if _WHOLE_LAYERS.fullmatch(lower) else None
