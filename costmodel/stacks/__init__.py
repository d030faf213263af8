"""Software stacks: one framework a file, listed here once."""

from __future__ import annotations

from costmodel.errors import BadInputError
from costmodel.spec import SoftwareStack
from costmodel.stacks.eager_fsdp import EAGER_FSDP, KNOWN_EAGER_FSDP
from costmodel.stacks.evidence import Basis, KnownStack
from costmodel.stacks.generic import GENERIC, KNOWN_GENERIC
from costmodel.stacks.llm_foundry import KNOWN_LLM_FOUNDRY, LLM_FOUNDRY
from costmodel.stacks.megatron_core import KNOWN_MEGATRON_CORE, MEGATRON_CORE
from costmodel.stacks.megatron_deepspeed import KNOWN_MEGATRON_DEEPSPEED, MEGATRON_DEEPSPEED
from costmodel.stacks.megatron_lm import KNOWN_MEGATRON_LM, MEGATRON_LM
from costmodel.stacks.native import KNOWN_NATIVE_CPU, KNOWN_NATIVE_CUDA, NATIVE_CPU, NATIVE_CUDA
from costmodel.stacks.torchtitan import KNOWN_TORCHTITAN, TORCHTITAN
from costmodel.stacks.xla import KNOWN_XLA, XLA

KNOWN_STACKS: tuple[KnownStack, ...] = (
    KNOWN_NATIVE_CPU,
    KNOWN_NATIVE_CUDA,
    KNOWN_MEGATRON_CORE,
    KNOWN_TORCHTITAN,
    KNOWN_EAGER_FSDP,
    KNOWN_LLM_FOUNDRY,
    KNOWN_MEGATRON_LM,
    KNOWN_MEGATRON_DEEPSPEED,
    KNOWN_XLA,
    KNOWN_GENERIC,
)

STACKS: tuple[SoftwareStack, ...] = tuple(found.stack for found in KNOWN_STACKS)


def get(name: str) -> SoftwareStack:
    """The stack called `name`; raises BadInputError for a name that is not known."""
    return known(name).stack


def known(name: str) -> KnownStack:
    """The stack called `name` with what it rests on; raises BadInputError for a name that is not known."""
    for found in KNOWN_STACKS:
        if found.stack.name == name:
            return found
    names = ", ".join(found.stack.name for found in KNOWN_STACKS)
    raise BadInputError(f"software stack {name!r} is not known; known: {names}")


__all__ = [
    "EAGER_FSDP",
    "GENERIC",
    "KNOWN_STACKS",
    "LLM_FOUNDRY",
    "MEGATRON_CORE",
    "MEGATRON_DEEPSPEED",
    "MEGATRON_LM",
    "NATIVE_CPU",
    "NATIVE_CUDA",
    "STACKS",
    "TORCHTITAN",
    "XLA",
    "Basis",
    "KnownStack",
    "get",
    "known",
]
