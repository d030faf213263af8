"""What is computed again in backward, as sources write it."""

from __future__ import annotations

import re

from costmodel.spec import Recompute

_WHOLE_LAYERS = re.compile(r"full( \(uniform, 1\))?")
_SCORES_ONLY = re.compile(r"selective( \(core.?att(entio)?n\))?")
"""Megatron's `selective` alone repeats what lies between queries and the output of the heads (arXiv 2205.05198)."""


def recompute_named(text: str) -> Recompute | None:
    """The mode of every block that `text` names; None for one that the cost model has no word for.

    To repeat the scores alone is what a fused kernel does anyway, and costs and saves nothing beside it.
    """
    lower = text.strip().lower()
    if lower in ("none", "off", "no") or _SCORES_ONLY.fullmatch(lower):
        return Recompute.NONE
    return Recompute.FULL if _WHOLE_LAYERS.fullmatch(lower) else None
