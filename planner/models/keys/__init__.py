"""Words in which a family says where a value comes from: a key with its range, its default and what null means.

Each is a frozen value with `read(config, layer)`, so that a family is data. `layer` is the number of a block, from 0;
most values do not depend on it.
"""

from __future__ import annotations

from planner.models.keys.combined import Choose, Computed, Sum, Times
from planner.models.keys.key import Flag, Key, Word
from planner.models.keys.kind_source import KindSource, part
from planner.models.keys.messages import contradiction, origin
from planner.models.keys.nested import In, PerLayer
from planner.models.keys.quotient import Quotient
from planner.models.keys.size import (
    MAX_COUNT,
    MAX_LAYERS,
    MAX_TOKENS,
    MAX_WIDTH,
    Size,
    layers,
    tokens,
    vocabulary,
    width,
)
from planner.models.keys.source import Source, value_of

__all__ = [
    "MAX_COUNT",
    "MAX_LAYERS",
    "MAX_TOKENS",
    "MAX_WIDTH",
    "Choose",
    "Computed",
    "Flag",
    "In",
    "Key",
    "KindSource",
    "PerLayer",
    "Quotient",
    "Size",
    "Source",
    "Sum",
    "Times",
    "Word",
    "contradiction",
    "layers",
    "origin",
    "part",
    "tokens",
    "value_of",
    "vocabulary",
    "width",
]
