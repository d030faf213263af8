"""Which software stack stands for a framework by the words of its name, and what the framework does unless told."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from costmodel.spec import Precision, Recompute, SoftwareStack
from costmodel.stacks import (
    EAGER_FSDP,
    GENERIC,
    LLM_FOUNDRY,
    MEGATRON_CORE,
    MEGATRON_DEEPSPEED,
    MEGATRON_LM,
    TORCHTITAN,
    XLA,
)
from planner.validation.configuration import Configuration
from planner.validation.precisions import precision_named


@dataclass(frozen=True)
class Framework:
    """What is taken for a run of frameworks whose names hold a word."""

    words: str
    """A pattern that is looked for in the name, in lower case."""
    stack: SoftwareStack
    zero: Literal[0, 1, 2, 3]
    """The stage unless told."""
    zero_from: str
    """Where that default is documented."""
    sp: bool = False
    """Whether tensor parallelism splits the sequence unless told."""
    recompute: Recompute = Recompute.NONE
    is_nearest: bool = False
    """Whether the stack is another framework's, the nearest there is."""


_RECIPES = "NVIDIA's recipes use the distributed optimizer"
_DEEPSPEED = "DeepSpeed's zero_optimization.stage is 0 by default"
_FSDP = "FSDP shards everything by default"
_MEGATRON = "Megatron-LM's --use-distributed-optimizer is off by default"
_JAX = "nothing is sharded unless the mesh says so"

FRAMEWORKS: tuple[Framework, ...] = (
    Framework(r"maxtext", XLA, 3, "MaxText shards weights over its fsdp axis by default", is_nearest=True),
    Framework(r"alpa|parax|jax|xla", XLA, 0, _JAX),
    Framework(r"nemo|bridge", MEGATRON_CORE, 1, _RECIPES, sp=True),
    Framework(r"megatron.?deepspeed|megatron.*deepspeed|deepspeed.*megatron", MEGATRON_DEEPSPEED, 0, _DEEPSPEED),
    Framework(r"internevo|internlm", MEGATRON_CORE, 1, "InternEvo's parallel.zero1 is on by default", is_nearest=True),
    Framework(r"primus|megatron.?llama", MEGATRON_CORE, 0, _MEGATRON, is_nearest=True),
    Framework(r"megatron.*(core|te \d|v?0\.1\d)|mcore|transformer engine", MEGATRON_CORE, 0, _MEGATRON),
    Framework(r"megatron", MEGATRON_LM, 0, _MEGATRON),
    Framework(r"torchtitan", TORCHTITAN, 3, _FSDP, sp=True),
    Framework(r"llm-foundry|composer|mosaic", LLM_FOUNDRY, 3, _FSDP),
    Framework(r"fsdp|lightning", EAGER_FSDP, 3, _FSDP),
    Framework(r"galvatron", EAGER_FSDP, 3, _FSDP, is_nearest=True),
    Framework(r"deepspeed|xtuner|accelerate|hf |hugging|trl|axolotl", EAGER_FSDP, 0, _DEEPSPEED, is_nearest=True),
    Framework(r"colossal", EAGER_FSDP, 0, "Colossal-AI's booster shards nothing by default", is_nearest=True),
)
"""The first whose words are found decides."""

UNKNOWN = Framework("", GENERIC, 0, "nothing is sharded unless a source says so", is_nearest=True)
"""What is taken for a framework of another name."""


def framework_of(run: Configuration) -> Framework:
    """What stands for the framework of `run`.

    In fp16 the name of Megatron or DeepSpeed alone means the kernels of 2021, in what came later those of today.
    """
    name = run.framework.lower()
    found = next((framework for framework in FRAMEWORKS if re.search(framework.words, name)), UNKNOWN)
    is_old = precision_named(run.precision) is Precision.FP16
    if found.stack is MEGATRON_LM and not is_old:
        return _of_words("mcore")
    if "deepspeed" in found.words and found.stack is EAGER_FSDP and is_old:
        return _of_words("megatron.?deepspeed")
    return found


def _of_words(words: str) -> Framework:
    return next(framework for framework in FRAMEWORKS if words in framework.words)
