"""Model families as data, one file for those that resemble each other, listed here once."""

from __future__ import annotations

from planner.models.families import (
    bert,
    gpt2,
    llama,
)
from planner.models.family import Family

FAMILIES: tuple[Family, ...] = (
    *llama.FAMILIES,
    *gpt2.FAMILIES,
    *bert.FAMILIES,
)
"""Where a config names no class, the first family of its model_type counts."""
