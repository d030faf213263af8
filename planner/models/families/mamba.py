"""State-space models without attention: Mamba, Mamba-2 and Falcon Mamba."""

from __future__ import annotations

import math
from typing import Any

from costmodel.spec import Mamba, Mamba2
from planner.models.config import Config
from planner.models.families.checks import Activation
from planner.models.families.parts import HIDDEN, TIED, UNTIED, block, decoder
from planner.models.family import Family
from planner.models.keys import Computed, Flag, KindSource, Size, Source, part, value_of, width

EXPAND = Size("expand", default=2)
CONV_KERNEL = Size("conv_kernel", default=4)
BIAS = Flag("use_bias", default=False)
CONV_BIAS = Flag("use_conv_bias", default=True)
UNLIMITED = Computed(lambda _config, _layer: None)
"""A state has no place for a longest sequence."""

MAMBA2_HEADS = Size("num_heads", default=128)
MAMBA2_HEAD_DIM = width("head_dim", default=64)


def product(*factors: Source) -> Computed:
    """The product of some values."""
    return Computed(lambda config, layer: math.prod(value_of(factor, config, layer) for factor in factors))


def auto(size: Size, automatic: Source) -> Computed:
    """`size`, or what `automatic` yields where its key is missing, null or says `auto`."""

    def read(config: Config, layer: int) -> Any:
        if config.data.get(size.name) in (None, "auto"):
            return automatic.read(config, layer)
        return size.read(config, layer)

    return Computed(read)


def time_step_rank(name: str) -> Computed:
    """Rank of the time step's projection: a sixteenth of the width, rounded up, unless it is given."""
    return auto(width(name), Computed(lambda config, layer: -(-HIDDEN.read(config, layer) // 16)))


MAMBA = part(
    Mamba,
    hidden=HIDDEN,
    inner=width("intermediate_size", default=product(EXPAND, HIDDEN)),
    state_size=Size("state_size", default=16),
    time_step_rank=time_step_rank("time_step_rank"),
    conv_kernel=CONV_KERNEL,
    bias=BIAS,
    conv_bias=CONV_BIAS,
)

MAMBA2 = part(
    Mamba2,
    hidden=HIDDEN,
    num_heads=MAMBA2_HEADS,
    head_dim=MAMBA2_HEAD_DIM,
    num_groups=Size("n_groups", default=8),
    state_size=Size("state_size", default=128),
    conv_kernel=CONV_KERNEL,
    chunk_size=Size("chunk_size", default=256),
    bias=BIAS,
    conv_bias=CONV_BIAS,
)


def heads_fill_width(expand: Size, num_heads: Size, head_dim: Source, head_dim_key: str) -> Any:
    """A check that the heads together are as wide as `expand` times the model.

    `head_dim_key` names what `head_dim` is read from.
    """

    def check(config: Config) -> None:
        heads, dim, inner = (value.read(config, 0) for value in (num_heads, head_dim, product(expand, HIDDEN)))
        if heads * dim != inner:
            config.fail(
                f"{config.place(num_heads.name)} = {heads} heads of {dim} are {heads * dim} wide, but must be "
                f"{inner}, as wide as the expanded model; give {config.place(head_dim_key)}, "
                f"{config.place(expand.name)} and {config.place(HIDDEN.name)} that agree"
            )

    return check


def _stack(mixer: KindSource, tied: Flag) -> Any:
    """A model whose blocks are a norm and a mixer."""
    return decoder(block(mixer, None, num_norms=1), tied=tied)


FAMILIES = (
    Family("MambaForCausalLM", "mamba", _stack(MAMBA, TIED), max_seq_len=UNLIMITED, checks=(Activation(),)),
    Family(
        "Mamba2ForCausalLM",
        "mamba2",
        _stack(MAMBA2, UNTIED),
        max_seq_len=UNLIMITED,
        checks=(heads_fill_width(EXPAND, MAMBA2_HEADS, MAMBA2_HEAD_DIM, "head_dim"), Activation()),
    ),
    # Its norms of B, C and the time step learn nothing.
    Family(
        "FalconMambaForCausalLM", "falcon_mamba", _stack(MAMBA, TIED), max_seq_len=UNLIMITED, checks=(Activation(),)
    ),
)
