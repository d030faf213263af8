"""The list of all frameworks, and how one is found by name."""

from __future__ import annotations

from costmodel.errors import BadInputError
from costmodel.spec import Precision
from planner.frameworks.framework import Framework
from planner.frameworks.megatron import MEGATRON
from planner.frameworks.native import NATIVE
from planner.frameworks.torchtitan import TORCHTITAN

FRAMEWORKS: tuple[Framework, ...] = (NATIVE, MEGATRON, TORCHTITAN)
"""Adding a framework is one folder and one entry here."""


def get(name: str) -> Framework:
    """The framework called `name`; raises BadInputError that lists the valid names."""
    for framework in FRAMEWORKS:
        if framework.name == name:
            return framework
    valid = ", ".join(framework.name for framework in FRAMEWORKS)
    raise BadInputError(f"framework {name!r} is not supported by this version; valid values: {valid}")


def with_precision(precision: Precision) -> tuple[str, ...]:
    """Names of the frameworks that train in `precision`."""
    return tuple(framework.name for framework in FRAMEWORKS if precision in framework.precisions)
