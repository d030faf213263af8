"""Software stacks: one framework a file, listed here once."""

from __future__ import annotations

from costmodel.errors import BadInputError
from costmodel.spec import SoftwareStack
from costmodel.stacks.megatron_core import MEGATRON_CORE
from costmodel.stacks.native import NATIVE_CPU, NATIVE_CUDA
from costmodel.stacks.torchtitan import TORCHTITAN

STACKS: tuple[SoftwareStack, ...] = (NATIVE_CPU, NATIVE_CUDA, MEGATRON_CORE, TORCHTITAN)


def get(name: str) -> SoftwareStack:
    """The stack called `name`; raises BadInputError for a name that is not known."""
    for stack in STACKS:
        if stack.name == name:
            return stack
    raise BadInputError(f"software stack {name!r} is not known; known: {', '.join(s.name for s in STACKS)}")
