"""Which software stack stands for a framework by the words of its name, and what the framework does unless told."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
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
class Default:
    """What a framework does unless told, in words."""

    value: str
    basis: str | None
    """A sentence that is true of the framework; None where its default is not known."""

    def note(self, column: str) -> str:
        """What is said of a run whose source leaves `column` open."""
        if self.basis is None:
            return f"{column} taken as {self.value}, since the source does not say"
        return f"{column} not stated, taken as {self.value}: {self.basis}"


@dataclass(frozen=True)
class Framework:
    """What is taken for a run of frameworks whose names hold a word; a `..._from` says where a default is documented,
    and is None where it is assumed."""

    words: str
    """A pattern that is looked for in the name, in lower case."""
    stack: SoftwareStack
    zero: Literal[0, 1, 2, 3]
    """The stage unless told."""
    zero_from: str | None = None
    sp: bool = False
    """Whether tensor parallelism splits the sequence unless told."""
    sp_from: str | None = None
    recompute: Recompute = Recompute.NONE
    recompute_from: str | None = None
    etp_from: str | None = None
    """Why experts are split over as many ranks as the rest of the block."""
    is_nearest: bool = False
    """Whether the stack is another framework's, the nearest there is."""

    def etp(self, tp: int, ep: int, num_ranks: int) -> tuple[int, Default]:
        """Ranks over which a routed expert is split, on a stage of `num_ranks`: `tp`, where experts then fit on it."""
        if ep * tp > num_ranks:
            words = f"ep {ep} times tp {tp} is above the {num_ranks} ranks of a stage"
            return 1, Default("1", words)
        return tp, Default(str(tp), self.etp_from)


_NO_ZERO = "DeepSpeed's zero_optimization.stage is 0 by default"
_NO_SP = "Megatron's --sequence-parallel is off by default"
_NO_RECOMPUTE = "Megatron recomputes nothing by default"
_ETP = "Megatron-Core's expert_tensor_parallel_size is that of tp by default"

_MAXTEXT = Framework(
    r"maxtext",
    XLA,
    zero=3,
    zero_from="MaxText's ici_fsdp_parallelism is -1, all devices, by default",
    recompute=Recompute.FULL,
    recompute_from="MaxText's remat_policy is full by default",
    is_nearest=True,
)
_JAX = Framework(r"alpa|parax|jax|xla", XLA, zero=0, recompute_from="JAX recomputes nothing unless told")
_NEMO = Framework(
    r"nemo|bridge",
    MEGATRON_CORE,
    zero=1,
    zero_from="NVIDIA's recipes use the distributed optimizer",
    sp=True,
    recompute_from="Megatron-Core's recompute_granularity is None by default",
    etp_from=_ETP,
)
_MEGATRON_DEEPSPEED = Framework(
    r"megatron.*deepspeed|deepspeed.*megatron",
    MEGATRON_DEEPSPEED,
    zero=0,
    zero_from=_NO_ZERO,
    sp_from=_NO_SP,
    recompute_from=_NO_RECOMPUTE,
)
_INTERNEVO = Framework(
    r"internevo|internlm",
    MEGATRON_CORE,
    zero=1,
    zero_from="InternEvo's parallel.zero1 is over all data-parallel ranks by default",
    is_nearest=True,
)
_OF_MEGATRON = Framework(r"primus|megatron.?llama", MEGATRON_CORE, zero=0, is_nearest=True)
_MEGATRON_CORE = Framework(
    r"megatron.*(core|te \d|v?0\.1\d)|mcore|transformer engine",
    MEGATRON_CORE,
    zero=0,
    zero_from="Megatron-LM's --use-distributed-optimizer is off by default",
    sp_from=_NO_SP,
    recompute_from=_NO_RECOMPUTE,
    etp_from=_ETP,
)
_MEGATRON_LM = replace(_MEGATRON_CORE, words=r"megatron", stack=MEGATRON_LM)
_TORCHTITAN = Framework(
    r"torchtitan",
    TORCHTITAN,
    zero=3,
    zero_from="torchtitan's data_parallel_shard_degree is -1, all ranks, by default",
    sp=True,
    sp_from="torchtitan's tensor parallelism splits the sequence",
    recompute_from="its default, selective, has no price yet",
)
_LLM_FOUNDRY = Framework(
    r"llm-foundry|composer|mosaic",
    LLM_FOUNDRY,
    zero=3,
    zero_from="Composer's sharding_strategy is FULL_SHARD by default",
    recompute_from="Composer's activation_checkpointing is off by default",
)
_FSDP = Framework(
    r"fsdp",
    EAGER_FSDP,
    zero=3,
    zero_from="FSDP shards everything by default",
    recompute_from="FSDP recomputes nothing unless told",
)
_GALVATRON = Framework(r"galvatron", EAGER_FSDP, zero=3, is_nearest=True)
_LIGHTNING = Framework(
    r"lightning", EAGER_FSDP, zero=0, zero_from="PyTorch Lightning's strategy is DDP unless told", is_nearest=True
)
_DEEPSPEED = Framework(r"deepspeed", EAGER_FSDP, zero=0, zero_from=_NO_ZERO, is_nearest=True)
_HUGGING_FACE = Framework(
    r"accelerate|hf |hugging|trl|axolotl",
    EAGER_FSDP,
    zero=0,
    zero_from="Hugging Face's Trainer and Accelerate shard nothing unless told",
    recompute_from="Hugging Face's gradient_checkpointing is off by default",
    is_nearest=True,
)
_OTHER_EAGER = Framework(r"xtuner|colossal", EAGER_FSDP, zero=0, is_nearest=True)

FRAMEWORKS: tuple[Framework, ...] = (
    _MAXTEXT,
    _JAX,
    _NEMO,
    _MEGATRON_DEEPSPEED,
    _INTERNEVO,
    _OF_MEGATRON,
    _MEGATRON_CORE,
    _MEGATRON_LM,
    _TORCHTITAN,
    _LLM_FOUNDRY,
    _GALVATRON,
    _FSDP,
    _DEEPSPEED,
    _LIGHTNING,
    _HUGGING_FACE,
    _OTHER_EAGER,
)
"""The first whose words are found decides."""

UNKNOWN = Framework("", GENERIC, zero=0, is_nearest=True)
"""What is taken for a framework of another name."""


def framework_of(run: Configuration) -> Framework:
    """What stands for the framework of `run`.

    In fp16 the name of Megatron alone means the kernels of 2021, in what came later those of today.
    """
    name = run.framework.lower()
    found = next((framework for framework in FRAMEWORKS if re.search(framework.words, name)), UNKNOWN)
    is_old = precision_named(run.precision) is Precision.FP16
    return _MEGATRON_CORE if found is _MEGATRON_LM and not is_old else found
